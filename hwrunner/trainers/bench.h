// One rank of `lockstep measure --bench`: times collectives, ops or copies size by size, on the tensors and the process
// group that training uses. Plain C++; seconds of the monotonic clock.
#pragma once

#include <memory>
#include <optional>

#include "hwrunner/launch/plan.h"
#include "hwrunner/launch/record.h"
#include "hwrunner/trainers/trainer.h"
#include "simulator/base/error.h"

namespace lockstep {

class Bench {
 public:
  virtual ~Bench() = default;
  Bench() = default;
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // The next point, or nothing after the last. A size that the time budget leaves no room for comes back without a time
  // and with the reason. Errors: RunFailed with what LibTorch or Gloo says.
  virtual Expected<std::optional<BenchRecord>> next() = 0;
};

// Collectives meet the other ranks (options.group) first. Of `options`: threads, group, and the optimizer and its
// implementation for ops; `precision` is that of the ops' tensors under autocast.
Expected<std::unique_ptr<Bench>> make_bench(const BenchPlan& plan, const TrainerOptions& options, Precision precision);

}  // namespace lockstep
