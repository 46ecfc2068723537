// Measuring as one sees it: what would run, its steps as they come, what came out, and whether the prediction beside it
// is one of the same thing. Below the charts, where the points appear.
#pragma once

#include <QFrame>

#include "gui/document/scenario_document.h"
#include "gui/runs/measurement.h"

class QLabel;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QStackedWidget;
class QTableWidget;
class QToolButton;

namespace lockstep::gui {

class StepDots;

class MeasureStrip : public QFrame {
  Q_OBJECT

 public:
  MeasureStrip(LiveMeasurement& measurement, ScenarioDocument& document, QWidget* parent = nullptr);
  void ask();  // what would run; shows the strip
  void theme_changed();
  void set_throughput_unit(const std::string& unit) { unit_ = unit; }

 signals:
  void trouble(const lockstep::Errors& errors);

 private:
  void make_head();
  void make_foot();
  void refresh();
  void refresh_steps();
  void refresh_foot();
  QString state_text() const;
  QString plan_text() const;
  QString trouble_text() const;  // what the state does not say of it already
  void hold_still();
  void open_measured(bool calibrated);
  bool same_thing() const;  // the open scenario is the one that was, or would be, measured

  LiveMeasurement& measurement_;
  ScenarioDocument& document_;
  std::string unit_;
  QLabel *title_ = nullptr, *state_ = nullptr, *wrong_ = nullptr, *beside_ = nullptr;
  QLabel *steps_label_ = nullptr, *repeats_label_ = nullptr;
  QSpinBox *steps_ = nullptr, *repeats_ = nullptr;
  QPushButton *start_ = nullptr, *stop_ = nullptr, *open_ = nullptr, *calibrate_ = nullptr;
  QToolButton *table_button_ = nullptr, *close_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QStackedWidget* body_ = nullptr;
  StepDots* dots_ = nullptr;
  QTableWidget* table_ = nullptr;
};

}  // namespace lockstep::gui
