#include "simulator/cli/measure_plan.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "simulator/base/format.h"
#include "simulator/cli/files.h"
#include "simulator/result/json.h"

namespace lockstep {
namespace {

// "NVIDIA H200 x 8", "AMD EPYC, 2 cores".
std::string device_of(const MeasureRequest& request) {
  const auto& devices = request.runner.devices;
  if (request.on_gpus && !devices.empty())
    return devices.size() == 1 ? devices.front() : fmt::format("{} x {}", devices.front(), devices.size());
  const auto facts = fingerprint(request.machine);
  const auto cpu = facts.find("cpu");
  const std::string cores = fmt::format("{} core{}", request.machine.cores, request.machine.cores == 1 ? "" : "s");
  return cpu == facts.end() || cpu->second.empty() ? cores : fmt::format("{}, {}", cpu->second, cores);
}

nlohmann::ordered_json as_json(const MeasurePlan& plan, const Inputs& inputs, const MeasureRequest& request) {
  nlohmann::ordered_json json = {{"type", "plan"},
                                 {"device", device_of(request)},
                                 {"on_gpus", request.on_gpus},
                                 {"warm_up", plan.warm_up},
                                 {"steps", plan.steps},
                                 {"repeats", plan.repeats},
                                 {"expected_s", plan.expected_s},
                                 {"scenario_yaml", scenario_yaml(inputs.read)}};
  json["rows"] = nlohmann::ordered_json::array();
  for (const PlannedRow& row : plan.rows) {
    nlohmann::ordered_json one = {{"strategy", name_of(row.strategy)}, {"gpus", row.gpus}};
    if (row.not_run) {
      one["not_run"] = *row.not_run;
    } else {
      one["per_gpu_batch"] = row.per_gpu_batch;
      if (row.expected_step_s > 0) one["expected_step_s"] = row.expected_step_s;
    }
    json["rows"].push_back(std::move(one));
  }
  json["notes"] = request.notes;
  return json;
}

std::string as_text(const MeasurePlan& plan, const MeasureRequest& request) {
  std::string text =
      fmt::format("Would be measured on {}: {} + {} steps, {} time{}, about {} in all\n", device_of(request),
                  plan.warm_up, plan.steps, plan.repeats, plan.repeats == 1 ? "" : "s", format_time(plan.expected_s));
  for (const PlannedRow& row : plan.rows) {
    text += fmt::format("  {} on {}: ", name_of(row.strategy), row.gpus);
    text += row.not_run ? fmt::format("not run: {}\n", *row.not_run)
                        : fmt::format("{} samples each, a step of about {}\n", row.per_gpu_batch,
                                      format_time(row.expected_step_s));
  }
  for (const std::string& note : request.notes) text += fmt::format("Note: {}\n", note);
  return text;
}

}  // namespace

int write_measure_plan(const MeasureArguments& arguments, const Inputs& inputs, const MeasureRequest& request,
                       Output& output) {
  const MeasurePlan plan = plan_measurement(inputs, request);
  const Form form = arguments.common.form;
  std::string answer = as_text(plan, request);
  if (form == Form::JsonLines) answer = as_json(plan, inputs, request).dump() + '\n';
  if (form == Form::Json) answer = as_json(plan, inputs, request).dump(2) + '\n';
  return write_result(answer, arguments.common, output) ? kGood : kRunFailed;
}

}  // namespace lockstep
