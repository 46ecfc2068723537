// Every view that there is, in the order in which the window, the export and the report show them.
#pragma once

#include <QString>
#include <memory>
#include <vector>

#include "gui/charts/view.h"

namespace lockstep::gui {

// A tab of the window: cards side by side, each with views that take turns.
struct ViewTab {
  QString title;
  std::vector<std::vector<std::unique_ptr<View>>> cards;
};
std::vector<ViewTab> all_views();

// The same in one row.
std::vector<View*> views_in(const std::vector<ViewTab>& tabs);

}  // namespace lockstep::gui
