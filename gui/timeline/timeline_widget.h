// The timeline to look at: wheel zooms at the pointer (with Shift it scrolls), dragging pans, clicking selects; by keys
// arrows go from span to span and lane to lane, + and - zoom, Home and End go to the ends of the step, 0 fits it, . and
// , go from bucket to bucket, Esc lets go.
#pragma once

#include <QWidget>

#include "gui/timeline/timeline_picture.h"

class QScrollBar;

namespace lockstep::gui {

class TimelineWidget : public QWidget {
  Q_OBJECT

 public:
  explicit TimelineWidget(QWidget* parent = nullptr);

  void show_timeline(Timeline timeline, bool faded);
  void fade(bool faded);
  const TimelinePicture& picture() const { return picture_; }
  const SpanPlace& selected() const { return marks_.selected; }
  const SpanPlace& hovered() const { return marks_.hovered; }
  void select(const SpanPlace& place, bool reveal = false);
  // Lights the spans of a focus, dims the others, and scrolls to the first; false where no span is meant.
  bool light(const std::optional<Focus>& focus);
  const std::optional<Focus>& lit() const { return marks_.lit; }
  void fit();
  void zoom(double factor, double at = 0.5);
  void go_to_bucket(int by);
  void paint_into(QPainter& painter, const QRectF& target);
  QSize sizeHint() const override { return {860, 480}; }

 signals:
  void selection_changed();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void place();
  void scroll_to(const SpanPlace& place);
  void move_minimap_to(qreal x);
  void draw_callout(QPainter& painter) const;
  QRectF drawing_area() const;

  TimelinePicture picture_;
  TimelinePicture::Marks marks_;
  QScrollBar* bar_ = nullptr;
  enum class Drag { None, Pan, Minimap } drag_ = Drag::None;
  QPointF pressed_, last_;
  bool moved_ = false;
};

}  // namespace lockstep::gui
