#include "hwrunner/trainers/torch_profile.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <fstream>
#include <set>
#include <stdexcept>

namespace lockstep {
namespace {

namespace kineto = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;

bool is_mark(const std::string& name) {
  return name.starts_with("ProfilerStep#") || name.starts_with("Optimizer.step#");
}

}  // namespace

ProfilerMark::ProfilerMark(const std::string& name)
    : function_(std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE)) {
  if (function_->isActive()) function_->before(name);
}

ProfilerMark::~ProfilerMark() = default;

StepProfile::StepProfile(bool kernels) {
  std::set<ActivityType> activities{ActivityType::CPU};
  if (kernels) activities.insert(ActivityType::CUDA);
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO,
                                                     /*report_input_shapes=*/false, /*profile_memory=*/false,
                                                     /*with_stack=*/false, /*with_flops=*/false,
                                                     /*with_modules=*/false);
  kineto::prepareProfiler(config, activities);
  kineto::enableProfiler(config, activities);
}

StepProfile::~StepProfile() {
  try {
    if (listening_) kineto::disableProfiler();
  } catch (const std::exception&) {  // the step that failed says why
  }
}

SecondsByClass StepProfile::finish(const std::string& trace_file) {
  listening_ = false;
  const auto result = kineto::disableProfiler();
  std::vector<ProfiledEvent> events;
  for (const kineto::KinetoEvent& one : result->events()) {
    ProfiledEvent event;
    event.kernel = one.deviceType() != c10::DeviceType::CPU;
    event.name = one.name();
    if (is_mark(event.name)) continue;
    event.start_s = 1e-9 * static_cast<double>(one.startNs());
    event.end_s = event.start_s + 1e-9 * static_cast<double>(one.durationNs());
    event.thread = one.startThreadId();
    event.id = event.kernel ? one.linkedCorrelationId() : one.correlationId();
    events.push_back(std::move(event));
  }
  if (!trace_file.empty()) {
    result->save(trace_file);
    if (!std::ifstream(trace_file)) throw std::runtime_error("the trace could not be written to " + trace_file);
  }
  return seconds_by_class(std::move(events));
}

}  // namespace lockstep
