#include "gui/sweep/heat_map.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

namespace lockstep::gui {

HeatMap::HeatMap(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
}

HeatLayout HeatMap::layout() const {
  return heat_layout(picture_, rect(), font(), false);
}

void HeatMap::show_picture(HeatPicture picture) {
  const bool same = picture.across.size() == picture_.across.size() && picture.up.size() == picture_.up.size();
  picture.selected = same ? picture_.selected : std::nullopt;
  picture.focused = hasFocus();
  picture_ = std::move(picture);
  update();
}

void HeatMap::select(std::optional<std::size_t> cell) {
  if (cell == picture_.selected) return;
  picture_.selected = cell;
  update();
  emit selection_changed();
}

void HeatMap::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paint_heat(painter, rect(), picture_, false);
}

void HeatMap::keyPressEvent(QKeyEvent* event) {
  const int key = event->key();
  const int right = key == Qt::Key_Right ? 1 : key == Qt::Key_Left ? -1 : 0;
  const int up = key == Qt::Key_Up ? 1 : key == Qt::Key_Down ? -1 : 0;
  if (picture_.is_empty()) return QWidget::keyPressEvent(event);
  if (right != 0 || up != 0) {
    const std::size_t start = picture_.present.value_or(0);
    select(picture_.selected ? moved(layout(), *picture_.selected, right, up) : start);
  } else if ((key == Qt::Key_Return || key == Qt::Key_Enter) && picture_.selected) {
    emit taken(*picture_.selected);
  } else if (key == Qt::Key_Escape && picture_.selected) {
    select(std::nullopt);
  } else {
    QWidget::keyPressEvent(event);
  }
}

void HeatMap::mousePressEvent(QMouseEvent* event) {
  select(layout().at(event->position()));
}

void HeatMap::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const auto cell = layout().at(event->position())) emit taken(*cell);
}

void HeatMap::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  picture_.focused = true;
  if (!picture_.selected && !picture_.is_empty() && event->reason() != Qt::MouseFocusReason)
    select(picture_.present.value_or(0));
  update();
}

void HeatMap::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  picture_.focused = false;
  update();
}

bool HeatMap::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto cell = layout().at(help->pos());
  if (cell && words_)
    QToolTip::showText(help->globalPos(), words_(*cell), this, layout().cell(*cell).toRect());
  else
    QToolTip::hideText();
  return true;
}

}  // namespace lockstep::gui
