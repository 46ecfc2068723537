// Measured steps as they come: a dot each, in the order of time, hollow while warming up, with the median of a row so
// far and what 5 to 95 % of its steps took. Grows to the right while it is measured.
#pragma once

#include <QWidget>
#include <vector>

#include "gui/charts/data_table.h"
#include "gui/runs/measurement.h"

namespace lockstep::gui {

class StepDots : public QWidget {
  Q_OBJECT

 public:
  explicit StepDots(QWidget* parent = nullptr);
  // expected: as many steps will come; room is kept for them.
  void show_steps(const std::vector<MeasuredStep>& steps, int expected);
  QSize sizeHint() const override { return {600, 132}; }
  QSize minimumSizeHint() const override { return {260, 132}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  struct Stretch {  // of one launch
    std::size_t first = 0, last = 0;
  };
  std::vector<Stretch> stretches() const;
  QPointF at(std::size_t index) const;
  double y_of(double seconds) const;
  void draw_axis(QPainter& painter) const;
  void draw_stretch(QPainter& painter, const Stretch& one) const;

  std::vector<MeasuredStep> steps_;
  std::vector<MeasuredRow> rows_;
  int expected_ = 0;
  double longest_s_ = 0;
  QRectF plot_;
};

// "DDP × 2"; one GPU alone: "1 GPU".
QString row_name(Strategy strategy, int gpus);
// Of the rows so far: median, 5 and 95 % (of fewer than 20 steps the fastest and the slowest), steps.
DataTable measured_table(const std::vector<MeasuredRow>& rows);
// The same as a sentence.
QString measured_sentence(const std::vector<MeasuredRow>& rows);

}  // namespace lockstep::gui
