// Copies over sizes: within the host's memory, and between it and a GPU from pageable and pinned memory.
#include <ATen/ops/zeros.h>

#include <cstring>

#include "hwrunner/modules/torch_error.h"
#include "hwrunner/trainers/torch_bench.h"

namespace lockstep {
namespace {

constexpr const char* kNoGpu = "this runner's device is the CPU: there is no GPU to copy to";

class CopiesBench : public Bench {
 public:
  CopiesBench(const BenchPlan& plan, const TrainerOptions&) : plan_(plan), sizes_(bench_sizes(plan)) {}

  Expected<std::optional<BenchRecord>> next() override {
    return guarded("the bench failed", [this]() -> Expected<std::optional<BenchRecord>> {
      if (at_ < sizes_.size()) return std::optional<BenchRecord>(within_the_host(sizes_[at_++]));
      static constexpr const char* kKinds[] = {"host_to_device_pageable", "host_to_device_pinned",
                                               "device_to_host_pageable", "device_to_host_pinned"};
      const std::size_t kind = at_ - sizes_.size();
      if (kind == std::size(kKinds)) return std::optional<BenchRecord>();
      ++at_;
      BenchRecord record;
      record.what = kKinds[kind];
      record.not_run = kNoGpu;
      return std::optional<BenchRecord>(std::move(record));
    });
  }

 private:
  BenchRecord within_the_host(std::int64_t bytes) {
    BenchRecord record;
    record.what = "host_to_host";
    record.bytes = record.count = bytes;
    record.type = "int8";
    if (!budget_.allows(bytes)) {
      record.not_run = BenchBudget::kUsedUp;
      return record;
    }
    const double start = monotonic_s();
    const at::Tensor from = at::zeros({bytes}, at::kChar).fill_(7), to = at::zeros({bytes}, at::kChar);
    const auto copy = [&] {
      std::memcpy(to.mutable_data_ptr(), from.const_data_ptr(), static_cast<std::size_t>(bytes));
    };
    Laps laps;
    double one_s = 0;
    copy();
    laps.add_to(one_s);
    record.iterations = budget_.iterations(one_s);
    for (int i = 0; i < std::min(record.iterations, plan_.warm_up); ++i) copy();
    laps = Laps();
    for (int i = 0; i < record.iterations; ++i) copy();
    laps.add_to(record.time_s);
    record.time_s /= record.iterations;
    record.wrong = to.ne(7).sum().item<std::int64_t>();
    budget_.spend(monotonic_s() - start, one_s, bytes);
    return record;
  }

  BenchPlan plan_;
  std::vector<std::int64_t> sizes_;
  std::size_t at_ = 0;
  BenchBudget budget_{plan_.budget_s, plan_.iterations};
};

}  // namespace

std::unique_ptr<Bench> make_copies_bench(const BenchPlan& plan, const TrainerOptions& options) {
  return std::make_unique<CopiesBench>(plan, options);
}

}  // namespace lockstep
