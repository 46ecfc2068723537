#include "gui/runs/json_lines.h"

#include <nlohmann/json.hpp>

#include "simulator/base/format.h"
#include "simulator/result/json.h"

namespace lockstep::gui {
namespace {

using nlohmann::json;

int int_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_integer() ? at->get<int>() : 0;
}

std::string text_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

double number_of(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->get<double>() : 0;
}

JsonLine step_of(const json& object) {
  StepLine step;
  step.strategy = text_of(object, "strategy");
  step.gpus = int_of(object, "gpus");
  step.repeat = int_of(object, "repeat");
  step.step = int_of(object, "step");
  const auto warm = object.find("warm_up");
  step.warm_up = warm != object.end() && warm->is_boolean() && warm->get<bool>();
  const auto time = object.find("step_time_s");
  if (time == object.end() || !time->is_number()) return BadLine{object.dump()};
  step.step_time_s = time->get<double>();
  return step;
}

std::optional<PlanLine::Row> plan_row(const json& object) {
  if (!object.is_object()) return std::nullopt;
  PlanLine::Row row;
  const auto strategy = strategy_called(text_of(object, "strategy"));
  if (!strategy) return std::nullopt;
  row.strategy = *strategy;
  row.gpus = int_of(object, "gpus");
  if (object.contains("not_run")) row.not_run = text_of(object, "not_run");
  row.per_gpu_batch = int_of(object, "per_gpu_batch");
  row.expected_step_s = number_of(object, "expected_step_s");
  return row;
}

JsonLine plan_of(const json& object) {
  PlanLine plan;
  plan.device = text_of(object, "device");
  plan.scenario_yaml = text_of(object, "scenario_yaml");
  const auto on_gpus = object.find("on_gpus");
  plan.on_gpus = on_gpus != object.end() && on_gpus->is_boolean() && on_gpus->get<bool>();
  plan.warm_up = int_of(object, "warm_up");
  plan.steps = int_of(object, "steps");
  plan.repeats = int_of(object, "repeats");
  plan.expected_s = number_of(object, "expected_s");
  const auto rows = object.find("rows"), notes = object.find("notes");
  if (rows == object.end() || !rows->is_array()) return BadLine{shortened(object.dump(), 200)};
  for (const json& one : *rows) {
    auto row = plan_row(one);
    if (!row) return BadLine{shortened(one.dump(), 200)};
    plan.rows.push_back(*std::move(row));
  }
  if (notes != object.end() && notes->is_array())
    for (const json& note : *notes)
      if (note.is_string()) plan.notes.push_back(note.get<std::string>());
  return plan;
}

}  // namespace

std::optional<Strategy> strategy_called(const std::string& name) {
  for (const Strategy one : {Strategy::Single, Strategy::Dp, Strategy::DpCpp, Strategy::Ddp})
    if (name == name_of(one)) return one;
  return std::nullopt;
}

JsonLine read_json_line(std::string_view line) {
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object()) return BadLine{shortened(line, 200)};
  const std::string type = text_of(object, "type");
  if (type == "progress") return ProgressLine{int_of(object, "done"), int_of(object, "total"), text_of(object, "text")};
  if (type == "step") return step_of(object);
  if (type == "summary")
    return SummaryLine{int_of(object, "points"), int_of(object, "run"), int_of(object, "not_run"),
                       int_of(object, "failed")};
  if (type == "plan") return plan_of(object);
  if (type == "error") return ErrorLine{text_of(object, "message")};
  if (type == "run") {
    if (auto run = run_from_json(line)) return *std::move(run);
  } else if (type == "result") {
    if (auto result = result_from_json(line, "lockstep")) return *std::move(result);
  }
  return BadLine{shortened(line, 200)};
}

}  // namespace lockstep::gui
