// The sweep map with its controls: two axes, strategy, metric; below it what the selected cell says.
#pragma once

#include <QCoreApplication>
#include <QPointer>
#include <memory>

#include "gui/charts/view.h"
#include "gui/sweep/axis_editor.h"
#include "gui/sweep/heat_map.h"
#include "gui/sweep/sweep_user.h"

class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;

namespace lockstep::gui {

class WordLabel;

class SweepView : public View, public SweepUser {
  Q_DECLARE_TR_FUNCTIONS(lockstep::gui::SweepView)

 public:
  SweepView();
  ~SweepView() override;

  QString id() const override { return QStringLiteral("sweep"); }
  QString title() const override;
  QWidget* widget() override { return page_; }
  void show_result(const Shown& shown) override;
  DataTable table() const override;
  QString description() const override;
  void paint(QPainter& painter, const QRectF& target) override;
  void theme_changed() override;
  void use(SweepRuns& runs) override;

  HeatMap& map() { return *map_; }
  AxisEditor& axis(std::size_t which) { return which == 0 ? *across_ : *up_; }
  QComboBox& metrics() { return *metrics_; }
  QComboBox& strategies() { return *strategies_; }
  QPushButton& run_button() { return *run_; }
  QPushButton& use_button() { return *use_; }
  QString details() const;

 private:
  void make_controls();
  void connect_axis(std::size_t which);
  void draw();
  void refresh_controls();
  void refresh_details();
  void take(std::size_t cell);
  SweepMetric metric() const;

  QPointer<QWidget> page_;
  AxisEditor *across_ = nullptr, *up_ = nullptr;
  QComboBox *strategies_ = nullptr, *metrics_ = nullptr;
  QLabel* state_ = nullptr;
  WordLabel *details_ = nullptr, *wrong_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QPushButton *run_ = nullptr, *use_ = nullptr;
  HeatMap* map_ = nullptr;
  SweepRuns* runs_ = nullptr;
  std::shared_ptr<const SweepGrid> grid_;
  std::shared_ptr<const Result> pinned_;
  bool drawn_ = false;
};

}  // namespace lockstep::gui
