#include "gui/timeline/timeline_widget.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/app/theme.h"

namespace lockstep::gui {
namespace {

constexpr double kZoomStep = 1.25;  // of one notch of the wheel, and of + and -
constexpr double kNotch = 120;
constexpr qreal kDragFrom = 4;  // pixels: less is a click

}  // namespace

TimelineWidget::TimelineWidget(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setMinimumSize(static_cast<int>(picture_.minimum_width()), static_cast<int>(picture_.minimum_height()));
  bar_ = new QScrollBar(Qt::Vertical, this);
  bar_->setAccessibleName(tr("Ranks above and below"));
  bar_->hide();
  connect(bar_, &QScrollBar::valueChanged, this, [this] {
    place();
    update();
  });
}

QRectF TimelineWidget::drawing_area() const {
  return QRectF(0, 0, width() - (bar_->isHidden() ? 0 : bar_->sizeHint().width()), height());
}

void TimelineWidget::place() {
  picture_.lay_out(drawing_area(), bar_->isHidden() ? 0 : bar_->value());
  const int beyond = static_cast<int>(std::ceil(picture_.rows_height() - picture_.rows_area().height()));
  if ((beyond > 0) == bar_->isHidden()) {
    bar_->setVisible(beyond > 0);
    picture_.lay_out(drawing_area(), bar_->isHidden() ? 0 : bar_->value());
  }
  const QSignalBlocker quiet(bar_);
  bar_->setRange(0, std::max(0, beyond));
  bar_->setPageStep(std::max(1, static_cast<int>(picture_.rows_area().height())));
  bar_->setSingleStep(24);
  const int wide = bar_->sizeHint().width();
  bar_->setGeometry(width() - wide, static_cast<int>(picture_.rows_area().top()), wide,
                    static_cast<int>(picture_.rows_area().height()));
}

void TimelineWidget::show_timeline(Timeline timeline, bool faded) {
  // What was selected stays so where it still is: the same span by place and name.
  const LaneSpan* before = picture_.span(marks_.selected);
  const std::string name = before != nullptr ? picture_.timeline().name_of(*before) : std::string();
  picture_.show(std::move(timeline));
  marks_.faded = faded;
  marks_.hovered = {};
  const LaneSpan* now = picture_.span(marks_.selected);
  if (now == nullptr || picture_.timeline().name_of(*now) != name) marks_.selected = {};
  place();
  update();
  emit selection_changed();
}

void TimelineWidget::fade(bool faded) {
  marks_.faded = faded;
  update();
}

void TimelineWidget::select(const SpanPlace& place_, bool reveal) {
  marks_.selected = picture_.span(place_) != nullptr ? place_ : SpanPlace{};
  if (reveal) {
    picture_.reveal(marks_.selected);
    scroll_to(marks_.selected);
  }
  place();
  update();
  emit selection_changed();
}

void TimelineWidget::scroll_to(const SpanPlace& to) {
  for (const TimelineRow& row : picture_.rows()) {
    if (row.group != to.group || row.lane != to.lane) continue;
    const QRectF& seen = picture_.rows_area();
    if (row.area.bottom() > seen.bottom())
      bar_->setValue(bar_->value() + static_cast<int>(std::ceil(row.area.bottom() - seen.bottom())));
    if (row.area.top() < seen.top())
      bar_->setValue(bar_->value() - static_cast<int>(std::ceil(seen.top() - row.area.top())) - 30);
  }
}

bool TimelineWidget::light(const std::optional<Focus>& focus) {
  marks_.lit = focus;
  const SpanPlace first = focus ? picture_.lit_by(*focus).first : SpanPlace{};
  if (focus && !first.valid()) marks_.lit.reset();  // nothing would be bright
  marks_.selected = {};
  if (marks_.lit) fit();
  place();
  scroll_to(first);
  place();
  update();
  emit selection_changed();
  return first.valid();
}

void TimelineWidget::fit() {
  picture_.fit();
  update();
}

void TimelineWidget::zoom(double factor, double at) {
  picture_.window().zoom(factor, at);
  update();
}

void TimelineWidget::go_to_bucket(int by) {
  const SpanPlace next = picture_.bucket(marks_.selected, by);
  if (next.valid()) select(next, true);
}

void TimelineWidget::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setFont(QApplication::font());
  if (picture_.timeline().empty()) {
    painter.setPen(theme().muted);
    painter.drawText(QRectF(rect()).adjusted(24, 24, -24, -24), Qt::AlignCenter | Qt::TextWordWrap,
                     tr("No timeline yet: it comes with the first prediction."));
    return;
  }
  picture_.paint(painter, marks_);
  draw_callout(painter);
  if (!hasFocus()) return;
  painter.setPen(QPen(theme().accent, 1.5));
  painter.setBrush(Qt::NoBrush);
  painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 4, 4);
}

void TimelineWidget::draw_callout(QPainter& painter) const {
  const QRectF area = picture_.area_of(marks_.hovered).intersected(picture_.rows_area());
  const QString text = picture_.text_of(marks_.hovered, QStringLiteral("\n"));
  if (area.isEmpty() || text.isEmpty() || drag_ != Drag::None) return;
  const QFontMetricsF metrics(painter.font());
  const QRectF bounds = metrics.boundingRect(QRectF(0, 0, 520, 400), Qt::AlignLeft | Qt::TextWordWrap, text);
  QRectF box(QPointF(0, 0), bounds.size() + QSizeF(20, 14));
  const qreal x = std::clamp(last_.x(), area.left(), area.right());
  box.moveTopLeft(QPointF(x + 14, area.bottom() + 6));
  if (box.bottom() > height() - 4) box.moveBottom(area.top() - 6);
  if (box.top() < 4) box.moveTop(4);
  box.moveLeft(std::clamp(box.left(), 4.0, std::max(4.0, width() - box.width() - 4)));
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme().border, 1));
  painter.setBrush(theme().raised);
  painter.drawRoundedRect(box, 6, 6);
  painter.setPen(theme().text);
  painter.drawText(box.adjusted(10, 7, -10, -7), Qt::AlignLeft | Qt::TextWordWrap, text);
}

void TimelineWidget::paint_into(QPainter& painter, const QRectF& target) {
  TimelinePicture apart = picture_;
  apart.lay_out(target.adjusted(0, 6, 0, -4));
  if (apart.rows_height() > apart.rows_area().height() && apart.rows_area().height() > 0) {
    // All ranks have to fit a picture: drawn larger, then shrunk.
    const qreal scale = target.height() / (target.height() + apart.rows_height() - apart.rows_area().height());
    painter.save();
    painter.translate(target.topLeft());
    painter.scale(scale, scale);
    apart.lay_out(QRectF(0, 6, target.width() / scale, target.height() / scale - 10));
    TimelinePicture::Marks marks;
    marks.selected = marks_.selected;
    marks.lit = marks_.lit;
    apart.paint(painter, marks);
    painter.restore();
    return;
  }
  TimelinePicture::Marks marks;
  marks.selected = marks_.selected;
  marks.lit = marks_.lit;
  if (!apart.timeline().empty()) apart.paint(painter, marks);
}

void TimelineWidget::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  place();
}

void TimelineWidget::wheelEvent(QWheelEvent* event) {
  const QPoint turned = event->angleDelta();
  if (event->modifiers() & Qt::ShiftModifier) {
    bar_->setValue(bar_->value() - (turned.y() != 0 ? turned.y() : turned.x()) / 2);
  } else if (std::abs(turned.x()) > std::abs(turned.y())) {
    picture_.window().pan(-turned.x() / kNotch * 0.08);
  } else {
    const double at = std::clamp(picture_.fraction_at(event->position().x()), 0.0, 1.0);
    picture_.window().zoom(std::pow(kZoomStep, -turned.y() / kNotch), at);
  }
  update();
  event->accept();
}

void TimelineWidget::move_minimap_to(qreal x) {
  TimeWindow& window = picture_.window();
  const double share = (x - picture_.minimap().left()) / picture_.minimap().width();
  const double middle = window.limit_from() + share * (window.limit_to() - window.limit_from());
  window.show(middle - window.width() / 2, middle + window.width() / 2);
  update();
}

void TimelineWidget::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return QWidget::mousePressEvent(event);
  pressed_ = last_ = event->position();
  moved_ = false;
  drag_ = picture_.minimap().contains(pressed_) ? Drag::Minimap : Drag::Pan;
  if (drag_ == Drag::Minimap) move_minimap_to(pressed_.x());
}

void TimelineWidget::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = event->position();
  if (drag_ == Drag::Minimap) {
    move_minimap_to(at.x());
  } else if (drag_ == Drag::Pan) {
    moved_ = moved_ || (at - pressed_).manhattanLength() > kDragFrom;
    if (moved_) {
      picture_.window().pan((last_.x() - at.x()) / std::max(1.0, picture_.rows_area().width()));
      bar_->setValue(bar_->value() + static_cast<int>(std::lround(last_.y() - at.y())));
      setCursor(Qt::ClosedHandCursor);
      update();
    }
  } else {
    const SpanPlace now = picture_.place_at(at);
    if (now.valid() || now != marks_.hovered) update();
    marks_.hovered = now;
  }
  last_ = at;
}

void TimelineWidget::mouseReleaseEvent(QMouseEvent* event) {
  const bool click = drag_ == Drag::Pan && !moved_;
  drag_ = Drag::None;
  unsetCursor();
  if (click) select(picture_.place_at(event->position()));
  update();
}

void TimelineWidget::mouseDoubleClickEvent(QMouseEvent* event) {
  const SpanPlace at = picture_.place_at(event->position());
  if (const LaneSpan* span = picture_.span(at); span != nullptr) {
    const double margin = 0.3 * (span->end_s - span->start_s);
    picture_.window().show(span->start_s - margin, span->end_s + margin);
    update();
  }
}

void TimelineWidget::leaveEvent(QEvent* event) {
  QWidget::leaveEvent(event);
  marks_.hovered = {};
  update();
}

// Shortcuts of the window with the same keys wait while the timeline has the focus.
bool TimelineWidget::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->modifiers() == Qt::NoModifier) event->accept();
  }
  return QWidget::event(event);
}

void TimelineWidget::keyPressEvent(QKeyEvent* event) {
  const TimeWindow& window = picture_.window();
  const bool shift = event->modifiers() & Qt::ShiftModifier;
  switch (event->key()) {
    case Qt::Key_Right:
    case Qt::Key_Left: {
      const int by = event->key() == Qt::Key_Right ? 1 : -1;
      if (shift)
        picture_.window().pan(0.1 * by);
      else
        select(picture_.neighbour(marks_.selected, by), true);
      break;
    }
    case Qt::Key_Down:
      select(picture_.other_lane(marks_.selected, 1), true);
      break;
    case Qt::Key_Up:
      select(picture_.other_lane(marks_.selected, -1), true);
      break;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
    case Qt::Key_W:
      zoom(1 / kZoomStep);
      break;
    case Qt::Key_Minus:
    case Qt::Key_S:
      zoom(kZoomStep);
      break;
    case Qt::Key_D:
      picture_.window().pan(0.1);
      break;
    case Qt::Key_A:
      picture_.window().pan(-0.1);
      break;
    case Qt::Key_Home:
      picture_.window().show(-0.03 * window.width(), 0.97 * window.width());
      break;
    case Qt::Key_End:
      picture_.window().show(picture_.timeline().step_s - 0.97 * window.width(),
                             picture_.timeline().step_s + 0.03 * window.width());
      break;
    case Qt::Key_0:
    case Qt::Key_F:
      fit();
      break;
    case Qt::Key_Period:
      go_to_bucket(1);
      break;
    case Qt::Key_Comma:
      go_to_bucket(-1);
      break;
    case Qt::Key_PageDown:
      bar_->setValue(bar_->value() + bar_->pageStep());
      break;
    case Qt::Key_PageUp:
      bar_->setValue(bar_->value() - bar_->pageStep());
      break;
    case Qt::Key_Escape:
      if (marks_.selected.valid())
        select({});
      else if (marks_.lit)
        light(std::nullopt);
      else
        return QWidget::keyPressEvent(event);
      break;
    default:
      return QWidget::keyPressEvent(event);
  }
  update();
}

}  // namespace lockstep::gui
