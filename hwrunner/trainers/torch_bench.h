// Inside trainers: what the three benches share. Includes LibTorch.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <string>

#include "hwrunner/trainers/bench.h"
#include "hwrunner/trainers/laps.h"
#include "hwrunner/trainers/torch_device.h"

namespace lockstep {

std::unique_ptr<Bench> make_collectives_bench(const BenchPlan& plan, const TrainerOptions& options);
std::unique_ptr<Bench> make_ops_bench(const BenchPlan& plan, const TrainerOptions& options, Precision precision);
std::unique_ptr<Bench> make_copies_bench(const BenchPlan& plan, const TrainerOptions& options);

// The names that nccl-tests prints.
inline std::string element_name(at::ScalarType type) {
  if (type == at::kHalf) return "half";
  if (type == at::kBFloat16) return "bfloat16";
  return type == at::kFloat ? "float" : "int64";
}

inline std::shared_ptr<TorchDevice> device_of(const TrainerOptions& options) {
  return options.device ? options.device : make_cpu_device();
}

// Seconds of `iterations` calls of f, until the device is through with them.
template <class F>
double timed_s(TorchDevice& device, int iterations, F f) {
  device.synchronise();
  const double start = monotonic_s();
  for (int i = 0; i < iterations; ++i) f();
  device.synchronise();
  return monotonic_s() - start;
}

// Shares a time budget out among the sizes of one series, which grow: a size may take a quarter of what is left.
class BenchBudget {
 public:
  BenchBudget(double budget_s, int most_iterations) : left_s_(budget_s), most_(most_iterations) {}
  // Iterations of a size of which one takes `one_s`; at least one.
  int iterations(double one_s) const {
    if (one_s <= 0) return most_;
    return static_cast<int>(std::clamp(left_s_ / 4 / one_s, 1.0, static_cast<double>(most_)));
  }
  void spend(double seconds, double one_s, std::int64_t bytes) {
    left_s_ -= seconds;
    last_s_ = one_s;
    last_bytes_ = bytes;
  }
  // A size is left out where one warm-up and one timed iteration, expected in proportion to the size before, would take
  // more than what is left.
  bool allows(std::int64_t bytes) const {
    if (last_bytes_ == 0) return true;
    return 2 * last_s_ * static_cast<double>(bytes) / static_cast<double>(last_bytes_) <= left_s_;
  }
  static constexpr const char* kUsedUp = "the time budget does not allow for it (--budget)";

 private:
  double left_s_;
  int most_;
  double last_s_ = 0;
  std::int64_t last_bytes_ = 0;
};

}  // namespace lockstep
