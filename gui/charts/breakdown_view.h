// Where a step goes, as stacked bars: one bar a run, causes in the order of a step, exposed communication hatched, and
// below each bar what backward hides of the communication.
#pragma once

#include <QCoreApplication>
#include <QPointer>

#include "gui/charts/axis.h"
#include "gui/charts/chart_panel.h"
#include "gui/charts/view.h"

class QBarCategoryAxis;
class QValueAxis;

namespace lockstep::gui {

struct BreakdownPart {
  Cause cause = Cause::Other;
  double seconds = 0;
};
struct BreakdownBar {
  QString name;  // "DDP ×8", "DDP ×8 measured"
  Strategy strategy = Strategy::Single;
  int gpus = 1;
  double step_s = 0;
  double hidden_s = 0;  // communication beside computing
  bool measured = false, pinned = false;
  std::vector<BreakdownPart> parts;  // in the order of a step; they add up to step_s
};

// Parts below 0.5 % of the longest step are joined into `other`. At most `room` bars: the largest numbers of GPUs stay.
std::vector<BreakdownBar> breakdown_bars(const Shown& shown, int room = 14);

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
  Shown shown_;
  std::vector<BreakdownBar> bars_;
  std::vector<Cause> causes_;  // that occur
  bool drawn_ = false;         // a hidden chart waits until it is seen
};

}  // namespace lockstep::gui
