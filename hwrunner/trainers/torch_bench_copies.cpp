// Copies over sizes: within the host's memory, and between it and a GPU from pageable and pinned memory.
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cstring>

#include "hwrunner/modules/torch_error.h"
#include "hwrunner/trainers/torch_bench.h"

namespace lockstep {
namespace {

constexpr const char* kNoGpu = "this runner's device is the CPU: there is no GPU to copy to";

class CopiesBench : public Bench {
 public:
  CopiesBench(const BenchPlan& plan, const TrainerOptions& options)
      : plan_(plan), device_(device_of(options)), on_(device_->of_replica()), sizes_(bench_sizes(plan)) {
    kinds_ = {{"host_to_host", false, false, false}};
    for (const bool pinned : {false, true}) {
      kinds_.push_back({pinned ? "host_to_device_pinned" : "host_to_device_pageable", true, false, pinned});
      kinds_.push_back({pinned ? "device_to_host_pinned" : "device_to_host_pageable", false, true, pinned});
    }
  }

  Expected<std::optional<BenchRecord>> next() override {
    return guarded("the bench failed", [this]() -> Expected<std::optional<BenchRecord>> {
      if (kind_ == kinds_.size()) return std::optional<BenchRecord>();
      const CopyKind& kind = kinds_[kind_];
      if ((kind.to_device || kind.to_host) && on_.is_cpu()) {
        ++kind_;
        BenchRecord record;
        record.what = kind.name;
        record.not_run = kNoGpu;
        return std::optional<BenchRecord>(std::move(record));
      }
      if (size_ == 0) budget_ = BenchBudget(plan_.budget_s / static_cast<double>(kinds_.size()), plan_.iterations);
      BenchRecord record = copied(kind, sizes_[size_]);
      if (++size_ == sizes_.size()) {
        size_ = 0;
        ++kind_;
      }
      return std::optional<BenchRecord>(std::move(record));
    });
  }

 private:
  struct CopyKind {
    const char* name;
    bool to_device, to_host, pinned;
  };

  BenchRecord copied(const CopyKind& kind, std::int64_t bytes) {
    BenchRecord record;
    record.what = kind.name;
    record.bytes = record.count = bytes;
    record.type = "int8";
    if (!budget_.allows(bytes)) {
      record.not_run = BenchBudget::kUsedUp;
      return record;
    }
    const double start = monotonic_s();
    at::Tensor from = at::full({bytes}, 7, at::kChar), to = at::zeros({bytes}, at::kChar);
    if (kind.to_device) from = device_->in_host_memory(from, kind.pinned);
    if (kind.to_host) to = device_->in_host_memory(to, kind.pinned);
    if (kind.to_device) to = to.to(on_);
    if (kind.to_host) from = from.to(on_);
    const bool within_the_host = !kind.to_device && !kind.to_host;
    const auto copy = [&] {
      if (within_the_host)
        std::memcpy(to.mutable_data_ptr(), from.const_data_ptr(), static_cast<std::size_t>(bytes));
      else
        to.copy_(from, /*non_blocking=*/true);
    };
    timed_s(*device_, 1, copy);
    const double one_s = timed_s(*device_, 1, copy);
    record.iterations = budget_.iterations(one_s);
    timed_s(*device_, std::min(record.iterations, plan_.warm_up), copy);
    record.time_s = timed_s(*device_, record.iterations, copy) / record.iterations;
    record.wrong = to.ne(7).sum().item<std::int64_t>();
    budget_.spend(monotonic_s() - start, one_s, bytes);
    return record;
  }

  BenchPlan plan_;
  std::shared_ptr<TorchDevice> device_;
  at::Device on_;
  std::vector<std::int64_t> sizes_;
  std::vector<CopyKind> kinds_;
  std::size_t kind_ = 0, size_ = 0;
  BenchBudget budget_{0, 1};
};

}  // namespace

std::unique_ptr<Bench> make_copies_bench(const BenchPlan& plan, const TrainerOptions& options) {
  return std::make_unique<CopiesBench>(plan, options);
}

}  // namespace lockstep
