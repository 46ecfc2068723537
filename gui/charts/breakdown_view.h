// Where a step goes, as stacked bars: one bar a run, causes in the order of a step, exposed communication hatched,
// below each bar what backward hides of the communication, and behind it how it differs from the pinned one.
#pragma once

#include <QCoreApplication>
#include <QPointer>

#include "gui/charts/axis.h"
#include "gui/charts/breakdown_bars.h"
#include "gui/charts/chart_panel.h"

class QBarCategoryAxis;
class QValueAxis;

namespace lockstep::gui {

class BreakdownView : public View {
  Q_DECLARE_TR_FUNCTIONS(lockstep::gui::BreakdownView)

 public:
  BreakdownView();
  ~BreakdownView() override;

  QString id() const override { return QStringLiteral("breakdown"); }
  QString title() const override;
  QWidget* widget() override { return panel_; }
  void show_result(const Shown& shown) override;
  DataTable table() const override;
  QString description() const override;
  void paint(QPainter& painter, const QRectF& target) override;
  void theme_changed() override;

 private:
  void draw();
  void draw_axes();
  void draw_over(QPainter& painter) const;
  std::vector<LegendItem> legend() const;
  std::vector<HotSpot> hot_spots() const;
  void ask_for(int spot) const;                                    // where in the timeline it is
  QRectF area(std::size_t bar, double from_s, double to_s) const;  // in values of the series

  QPointer<ChartPanel> panel_;
  QBarCategoryAxis* rows_ = nullptr;
  QValueAxis* time_ = nullptr;
  AxisUnit unit_;
  double bar_width_ = 0.5;  // of a row
  // What is drawn of a bar: its visible causes, the rest as one part at the end.
  std::vector<BreakdownPart> drawn_parts(const BreakdownBar& bar) const;
  QString part_name(Cause cause) const;  // of a drawn part
  QString callout(const BreakdownBar& bar, const BreakdownPart& part) const;
  QString change_text(const BreakdownBar& bar) const;  // against the pinned one; empty where there is none
  double axis_end() const;                             // in units of the axis
  void draw_number(QPainter& painter, const BreakdownBar& bar, const QPointF& end) const;

  Shown shown_;
  Devices devices_ = Devices::Gpus;
  std::vector<BreakdownBar> all_;   // for the table
  std::vector<BreakdownBar> bars_;  // drawn; the chart counts rows from below
  std::vector<Cause> causes_;       // drawn each by itself
  bool drawn_ = false;              // a hidden chart waits until it is seen
};

}  // namespace lockstep::gui
