// Kineto, the profiler of PyTorch, through LibTorch: the calls of the host, and on GPUs the kernels. Includes LibTorch.
#pragma once

#include <memory>
#include <string>

#include "hwrunner/trainers/op_classes.h"

namespace at {
struct RecordFunction;
}

namespace lockstep {

// A name around everything that happens while it lives, as torch.profiler.record_function; costs next to nothing while
// nobody listens. ProfilerStep#n is what readers of traces know as a step.
class ProfilerMark {
 public:
  explicit ProfilerMark(const std::string& name);
  ~ProfilerMark();
  ProfilerMark(const ProfilerMark&) = delete;
  ProfilerMark& operator=(const ProfilerMark&) = delete;

 private:
  std::unique_ptr<at::RecordFunction> function_;
};

// Listens to this thread, and to those that it hands its state to, from its making until finish(). One at a time.
class StepProfile {
 public:
  explicit StepProfile(bool kernels);
  ~StepProfile();
  StepProfile(const StepProfile&) = delete;
  StepProfile& operator=(const StepProfile&) = delete;

  // Seconds in all. `trace_file`: where the Chrome trace goes; empty: nowhere.
  SecondsByClass finish(const std::string& trace_file);

 private:
  bool listening_ = true;
};

}  // namespace lockstep
