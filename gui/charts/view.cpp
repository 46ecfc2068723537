#include "gui/charts/view.h"

namespace lockstep::gui {

std::vector<const Run*> runs_of(const Result& result) {
  std::vector<const Run*> runs;
  for (const Run& run : result.runs)
    if (!run.not_run && run.step_time_s > 0) runs.push_back(&run);
  return runs;
}

}  // namespace lockstep::gui
