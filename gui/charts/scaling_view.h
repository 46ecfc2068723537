// Efficiency, throughput or step time over the number of GPUs: predicted lines with their bands, measured points with
// whiskers, the pinned baseline behind them.
#pragma once

#include <QCoreApplication>
#include <QPointer>

#include "gui/charts/chart_panel.h"
#include "gui/charts/device_words.h"
#include "gui/charts/scaling_lines.h"

class QCategoryAxis;
class QValueAxis;

namespace lockstep::gui {

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
  QString unit_text() const;
  QString point_text(const ScalingLine& line, const ScalingPoint& point) const;
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
  Devices devices_ = Devices::Gpus;
  std::vector<ScalingLine> lines_;
  double highest_ = 0;
  bool drawn_ = false;  // a hidden chart waits until it is seen
};

}  // namespace lockstep::gui
