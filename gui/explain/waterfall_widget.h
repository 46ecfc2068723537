// The waterfall to look at: the fair share of the other step on top, a floating bar for each difference, the step at
// the bottom. Pointer or arrow keys choose a row.
#pragma once

#include <QFont>
#include <QWidget>

#include "gui/charts/axis.h"
#include "gui/explain/waterfall.h"

namespace lockstep::gui {

class WaterfallWidget : public QWidget {
  Q_OBJECT

 public:
  explicit WaterfallWidget(QWidget* parent = nullptr);

  void show_waterfall(Waterfall waterfall, bool faded);
  const Waterfall& waterfall() const { return waterfall_; }
  int selected() const { return selected_; }  // index of a row; -1: none
  void select(int row);
  QString row_name(int row) const;
  QString row_text(int row) const;  // "+49.0 ms"
  QRectF area_of(int row) const;    // of its bar, in the widget
  void paint_into(QPainter& painter, const QRectF& target) const;
  QSize sizeHint() const override { return {800, 460}; }

 signals:
  void selection_changed();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  // Line 0 is the base, then the rows, then the run.
  struct Layout {
    QRectF plot;  // bars
    qreal line = 0, bar = 0;
    qreal number_width = 0;  // kept free right of the longest bar
    WaterfallAxis axis;
    AxisUnit unit;
  };
  Layout lay_out(const QRectF& target) const;
  int lines() const { return static_cast<int>(waterfall_.rows.size()) + 2; }
  QRectF bar_of(const Layout& layout, int line) const;
  qreal x_of(const Layout& layout, double seconds) const;
  int line_at(const QPointF& point) const;
  QString name_of_line(int line) const;
  QString number_of_line(int line) const;
  void draw(QPainter& painter, const QRectF& target, int marked, int hovered) const;
  void draw_axis(QPainter& painter, const Layout& layout) const;
  void draw_line(QPainter& painter, const Layout& layout, int line, bool marked, bool hovered) const;
  void draw_bar(QPainter& painter, const Layout& layout, int line, const QRectF& bar) const;

  Waterfall waterfall_;
  bool faded_ = false;
  int selected_ = -1, hovered_ = -1;
};

}  // namespace lockstep::gui
