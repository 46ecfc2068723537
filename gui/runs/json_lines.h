// One line of `lockstep predict --jsonl` (docs/interface.md): what it says, or that it says nothing we know.
#pragma once

#include <string>
#include <string_view>
#include <variant>

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
struct ErrorLine {
  std::string message;
};
struct SummaryLine {  // the last of `lockstep sweep`
  int points = 0, run = 0, not_run = 0, failed = 0;
};
struct BadLine {
  std::string text;  // no JSON, no known type, or a known type whose content is wrong
};

using JsonLine = std::variant<ProgressLine, StepLine, Run, Result, ErrorLine, SummaryLine, BadLine>;

JsonLine read_json_line(std::string_view line);

}  // namespace lockstep::gui
