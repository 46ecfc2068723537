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

}  // namespace

JsonLine read_json_line(std::string_view line) {
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object()) return BadLine{shortened(line, 200)};
  const std::string type = text_of(object, "type");
  if (type == "progress") return ProgressLine{int_of(object, "done"), int_of(object, "total"), text_of(object, "text")};
  if (type == "step") return step_of(object);
  if (type == "summary")
    return SummaryLine{int_of(object, "points"), int_of(object, "run"), int_of(object, "not_run"),
                       int_of(object, "failed")};
  if (type == "error") return ErrorLine{text_of(object, "message")};
  if (type == "run") {
    if (auto run = run_from_json(line)) return *std::move(run);
  } else if (type == "result") {
    if (auto result = result_from_json(line, "lockstep")) return *std::move(result);
  }
  return BadLine{shortened(line, 200)};
}

}  // namespace lockstep::gui
