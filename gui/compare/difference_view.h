// The prediction against the pinned one: which part of the step makes it longer or shorter, and what was changed.
#pragma once

#include <QCoreApplication>
#include <QPointer>

#include "gui/compare/difference.h"
#include "gui/compare/diverging_widget.h"

namespace lockstep::gui {

// One cause of a pair of runs; Cause::Other is the rest in a picture.
struct CauseDifference {
  Cause cause = Cause::Other;
  double present_s = 0, pinned_s = 0;
  double difference_s() const { return present_s - pinned_s; }
};
// Causes that either run has, in the order of a step; their differences add up to that of the breakdowns.
std::vector<CauseDifference> cause_differences(const PinnedPair& pair);
// Those that are at least `least` of the pinned step, largest first, then the rest as one Cause::Other unless it is
// next to nothing.
std::vector<CauseDifference> largest_differences(const PinnedPair& pair, double least = kSameStep);

class DifferenceView : public View {
  Q_DECLARE_TR_FUNCTIONS(lockstep::gui::DifferenceView)

 public:
  DifferenceView();
  ~DifferenceView() override;

  QString id() const override { return QStringLiteral("difference"); }
  QString title() const override;
  QWidget* widget() override { return widget_; }
  void show_result(const Shown& shown) override;
  DataTable table() const override;
  QString description() const override;
  void paint(QPainter& painter, const QRectF& target) override;
  void theme_changed() override;

 private:
  void draw();
  DivergingPicture picture() const;
  void add_rows(DivergingPicture& picture, const PinnedPair& pair, const PinnedSentence& sentence,
                const AxisUnit& unit) const;
  QString empty_text() const;

  QPointer<DivergingWidget> widget_;
  Shown shown_;
  Devices devices_ = Devices::Gpus;
  bool drawn_ = false;  // a hidden view waits until it is seen
};

}  // namespace lockstep::gui
