// One line of `lockstep predict --jsonl` or `measure --jsonl` (docs/interface.md): what it says, or that it says
// nothing we know.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "simulator/result/result.h"

namespace lockstep::gui {

struct ProgressLine {
  int done = 0, total = 0;
  std::string text;
};
struct StepLine {  // of `lockstep measure`
  std::string strategy;
  int gpus = 1, repeat = 0, step = 0;
  bool warm_up = false;
  double step_time_s = 0;
};
struct PlanLine {  // of `lockstep measure --dry-run`
  struct Row {
    Strategy strategy = Strategy::Single;
    int gpus = 1;
    std::optional<std::string> not_run;  // the reason; then nothing below is set
    std::int64_t per_gpu_batch = 0;
    double expected_step_s = 0;  // 0: not known
  };
  std::string device, scenario_yaml;
  bool on_gpus = false;
  int warm_up = 0, steps = 0, repeats = 0;
  double expected_s = 0;
  std::vector<Row> rows;
  std::vector<std::string> notes;
};
struct ErrorLine {
  std::string message;
};
struct SummaryLine {  // the last of `lockstep sweep`
  int points = 0, run = 0, not_run = 0, failed = 0;
};
struct BadLine {
  std::string text;  // no JSON, no known type, or a known type whose content is wrong
};

using JsonLine = std::variant<ProgressLine, StepLine, PlanLine, Run, Result, ErrorLine, SummaryLine, BadLine>;

// By its name in a scenario: ddp.
std::optional<Strategy> strategy_called(const std::string& name);

JsonLine read_json_line(std::string_view line);

}  // namespace lockstep::gui
