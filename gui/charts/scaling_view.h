// Efficiency, throughput or step time over the number of GPUs: predicted lines with their bands, measured points with
// whiskers, the pinned baseline behind them.
#pragma once

#include <QCoreApplication>
#include <QPointer>
#include <optional>

#include "gui/charts/axis.h"
#include "gui/charts/chart_panel.h"
#include "gui/charts/view.h"

class QCategoryAxis;
class QValueAxis;

namespace lockstep::gui {

enum class Metric { Efficiency, Throughput, StepTime };

// One point of a line. Efficiency is a fraction, throughput samples per second, step time seconds.
struct ScalingPoint {
  int gpus = 1;
  double value = 0;
  std::optional<double> low, high;  // predicted: the 80 % band; measured: the fastest and slowest step
  int samples = 0;                  // measured: steps
};

struct ScalingLine {
  enum class Kind { Predicted, Baseline, Measured, Ideal };
  Kind kind = Kind::Predicted;
  Strategy strategy = Strategy::Single;
  QString name;                      // "DDP", "DDP measured"
  std::vector<ScalingPoint> points;  // by number of GPUs
};

// What the chart draws, as numbers. Band of the efficiency: what a run's band in ln(step) has beyond that of the single
// GPU, as both share the uncertain kernel and host times (docs/cost-models.md, bands add as squares).
std::vector<ScalingLine> scaling_lines(const Shown& shown, Metric metric);

QString metric_text(double value, Metric metric, const AxisUnit& unit);  // "94.9 %", "137 ms", "7450"

class ScalingView : public View {
  Q_DECLARE_TR_FUNCTIONS(lockstep::gui::ScalingView)

 public:
  explicit ScalingView(Metric metric);
  ~ScalingView() override;

  QString id() const override;
  QString title() const override;
  QWidget* widget() override { return panel_; }
  void show_result(const Shown& shown) override;
  DataTable table() const override;
  QString description() const override;
  void paint(QPainter& painter, const QRectF& target) override;
  void theme_changed() override;

 private:
  void draw();
  void draw_axes(double highest);
  void add_line(const ScalingLine& line);
  void add_band(const ScalingLine& line);
  void draw_over(QPainter& painter) const;
  void draw_whiskers(QPainter& painter, const ScalingLine& line) const;
  void draw_names(QPainter& painter) const;
  std::vector<LegendItem> legend() const;
  std::vector<HotSpot> hot_spots() const;
  QPointF at(const ScalingPoint& point) const;
  double in_unit(double value) const { return value / unit_.scale; }

  Metric metric_;
  QPointer<ChartPanel> panel_;
  QCategoryAxis* x_ = nullptr;
  QValueAxis* y_ = nullptr;
  AxisUnit unit_;
  Shown shown_;
  std::vector<ScalingLine> lines_;
  double highest_ = 0;
  bool drawn_ = false;  // a hidden chart waits until it is seen
};

}  // namespace lockstep::gui
