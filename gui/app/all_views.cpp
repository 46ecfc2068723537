#include "gui/app/all_views.h"

#include <QCoreApplication>

#include "gui/charts/breakdown_view.h"
#include "gui/charts/scaling_view.h"
#include "gui/compare/difference_view.h"
#include "gui/compare/error_view.h"
#include "gui/explain/explain_view.h"
#include "gui/sweep/bucket_view.h"
#include "gui/sweep/sweep_view.h"
#include "gui/timeline/timeline_view.h"
#include "gui/topology/topology_view.h"

namespace lockstep::gui {
namespace {

using Card = std::vector<std::unique_ptr<View>>;

template <class One>
Card card_of(std::unique_ptr<One> view) {
  Card card;
  card.push_back(std::move(view));
  return card;
}

template <class... Cards>
ViewTab tab_of(const QString& title, Cards... cards) {
  ViewTab tab{title, {}};
  (tab.cards.push_back(std::move(cards)), ...);
  return tab;
}

}  // namespace

std::vector<ViewTab> all_views() {
  Card scaling;
  for (const Metric metric : {Metric::Efficiency, Metric::Throughput, Metric::StepTime})
    scaling.push_back(std::make_unique<ScalingView>(metric));
  Card compare = card_of(std::make_unique<ErrorView>());
  compare.push_back(std::make_unique<DifferenceView>());
  Card sweeps = card_of(std::make_unique<SweepView>());
  sweeps.push_back(std::make_unique<BucketView>());
  std::vector<ViewTab> tabs;
  const auto add = [&tabs](const QString& title, auto... cards) { tabs.push_back(tab_of(title, std::move(cards)...)); };
  add(QCoreApplication::translate("lockstep::gui::Views", "Overview"), std::move(scaling),
      card_of(std::make_unique<BreakdownView>()));
  add(QCoreApplication::translate("lockstep::gui::Views", "Explain"), card_of(std::make_unique<ExplainView>()));
  add(QCoreApplication::translate("lockstep::gui::Views", "Sweep"), std::move(sweeps));
  add(QCoreApplication::translate("lockstep::gui::Views", "Compare"), std::move(compare));
  add(QCoreApplication::translate("lockstep::gui::Views", "Timeline"), card_of(std::make_unique<TimelineView>()));
  add(QCoreApplication::translate("lockstep::gui::Views", "Topology"), card_of(std::make_unique<TopologyView>()));
  return tabs;
}

std::vector<View*> views_in(const std::vector<ViewTab>& tabs) {
  std::vector<View*> views;
  for (const ViewTab& tab : tabs)
    for (const auto& card : tab.cards)
      for (const auto& view : card) views.push_back(view.get());
  return views;
}

}  // namespace lockstep::gui
