// The drawing of a machine to look at: links as wide as they are fast and coloured by how busy a step keeps them.
// Pointer or arrow keys choose a link; what it carries stands beside it.
#pragma once

#include <QTransform>
#include <QWidget>

#include "gui/topology/machine_drawing.h"

namespace lockstep::gui {

// The colour of a link that carries this share of what it could: grey for nothing, then from blue over yellow to red.
QColor use_colour(double share, bool dark);

class TopologyWidget : public QWidget {
  Q_OBJECT

 public:
  explicit TopologyWidget(QWidget* parent = nullptr);

  // `step_s`: of the run whose loads the drawing shows; 0: none.
  void show_drawing(MachineDrawing drawing, double step_s, bool faded);
  const MachineDrawing& drawing() const { return drawing_; }
  int selected() const { return selected_; }  // index of a link; -1: none
  void select(int link);
  void select_next(int by);
  // Bytes of a step against what the link could carry meanwhile.
  double use_of(const MachineLink& link) const;
  QString text_of(int link, const QString& separator) const;
  void paint_into(QPainter& painter, const QRectF& target);
  QPointF to_widget(const QPointF& natural) const { return place_.map(natural); }
  QSize sizeHint() const override { return {900, 520}; }

 signals:
  void selection_changed();
  void activated();  // the selected link, by Enter or a double click

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void draw(QPainter& painter, const QRectF& target, int marked, int hovered) const;
  QTransform fitted(const QRectF& target) const;
  void draw_boxes(QPainter& painter) const;
  void draw_links(QPainter& painter, int marked, int hovered) const;
  void draw_bars(QPainter& painter, int marked, int hovered) const;
  void draw_labels(QPainter& painter) const;
  void draw_legend(QPainter& painter, const QRectF& area) const;
  void draw_callout(QPainter& painter) const;

  MachineDrawing drawing_;
  QTransform place_;
  double step_s_ = 0;
  bool faded_ = false;
  int selected_ = -1, hovered_ = -1;
  QPointF pointer_;
};

}  // namespace lockstep::gui
