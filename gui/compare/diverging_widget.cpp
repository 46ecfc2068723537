#include "gui/compare/diverging_widget.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "gui/app/theme.h"

namespace lockstep::gui {

DivergingWidget::DivergingWidget(QWidget* parent) : QScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  setWidgetResizable(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(340, 220);
  canvas_ = new QWidget;
  canvas_->setMouseTracking(true);
  canvas_->installEventFilter(this);
  setWidget(canvas_);
}

void DivergingWidget::show_picture(DivergingPicture picture) {
  chart_.show(std::move(picture));
  if (current_ >= static_cast<int>(chart_.picture().rows.size())) current_ = -1;
  fit();
  canvas_->update();
}

void DivergingWidget::set_faded(bool faded) {
  faded_ = faded;
  canvas_->update();
}

void DivergingWidget::fit() {
  canvas_->setMinimumHeight(static_cast<int>(chart_.height_for(viewport()->width(), false)));
}

void DivergingWidget::showEvent(QShowEvent* event) {
  if (fill_) fill_();
  QScrollArea::showEvent(event);
}

void DivergingWidget::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  fit();
}

void DivergingWidget::paint_into(QPainter& painter, const QRectF& target) {
  if (fill_) fill_();
  painter.save();
  painter.fillRect(target, theme().surface);
  chart_.paint(painter, target, true);
  painter.restore();
}

bool DivergingWidget::eventFilter(QObject* watched, QEvent* event) {
  if (watched != canvas_) return QScrollArea::eventFilter(watched, event);
  if (event->type() == QEvent::Paint) {
    QPainter painter(canvas_);
    painter.fillRect(canvas_->rect(), theme().surface);
    if (faded_) painter.setOpacity(0.45);
    chart_.paint(painter, QRectF(canvas_->rect()), false, current_);
    return true;
  }
  if (event->type() == QEvent::MouseMove) select(chart_.row_at(static_cast<QMouseEvent*>(event)->position()));
  if (event->type() == QEvent::Leave && !hasFocus()) select(-1);
  return QScrollArea::eventFilter(watched, event);
}

void DivergingWidget::keyPressEvent(QKeyEvent* event) {
  const bool forth = event->key() == Qt::Key_Right || event->key() == Qt::Key_Down;
  const bool back = event->key() == Qt::Key_Left || event->key() == Qt::Key_Up;
  if (forth || back) {
    select(chart_.next(current_, forth ? 1 : -1));
    if (current_ >= 0) setAccessibleDescription(chart_.picture().rows[static_cast<std::size_t>(current_)].callout);
  } else if (event->key() == Qt::Key_Escape && current_ >= 0) {
    select(-1);
  } else {
    QScrollArea::keyPressEvent(event);
  }
}

void DivergingWidget::select(int row) {
  if (row == current_) return;
  current_ = row;
  canvas_->update();
}

}  // namespace lockstep::gui
