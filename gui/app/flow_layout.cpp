#include "gui/app/flow_layout.h"

#include <QWidget>
#include <algorithm>

namespace lockstep::gui {

FlowLayout::FlowLayout(QWidget* parent, int spacing, int least_width) : QLayout(parent), least_width_(least_width) {
  setContentsMargins(0, 0, 0, 0);
  setSpacing(spacing);
}

FlowLayout::~FlowLayout() {
  qDeleteAll(items_);
}

QLayoutItem* FlowLayout::itemAt(int index) const {
  return index >= 0 && index < count() ? items_[static_cast<std::size_t>(index)] : nullptr;
}

QLayoutItem* FlowLayout::takeAt(int index) {
  QLayoutItem* item = itemAt(index);
  if (item != nullptr) items_.erase(items_.begin() + index);
  return item;
}

void FlowLayout::clear() {
  while (QLayoutItem* item = takeAt(0)) {
    if (item->widget() != nullptr) item->widget()->deleteLater();
    if (item->widget() != nullptr) item->widget()->hide();
    delete item;
  }
}

void FlowLayout::setGeometry(const QRect& rect) {
  QLayout::setGeometry(rect);
  arrange(rect, true);
}

QSize FlowLayout::minimumSize() const {
  QSize size;
  for (const QLayoutItem* item : items_) size = size.expandedTo(item->minimumSize());
  const QMargins margins = contentsMargins();
  return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom());
}

int FlowLayout::arrange(const QRect& outer, bool place) const {
  const QRect rect = outer.marginsRemoved(contentsMargins());
  int columns = 0, width = 0;
  if (least_width_ > 0) {
    columns = std::max(1, (rect.width() + spacing()) / (least_width_ + spacing()));
    width = (rect.width() - (columns - 1) * spacing()) / columns;
  }
  int y = rect.top();
  std::size_t i = 0;
  while (i < items_.size()) {
    // One line: its items, then their common height.
    std::size_t end = i;
    int x = rect.left(), height = 0;
    while (end < items_.size()) {
      const int own = width > 0 ? width : std::min(items_[end]->sizeHint().width(), rect.width());
      const bool full =
          width > 0 ? end - i == static_cast<std::size_t>(columns) : end > i && x + own > rect.right() + 1;
      if (full) break;
      const int tall =
          items_[end]->hasHeightForWidth() ? items_[end]->heightForWidth(own) : items_[end]->sizeHint().height();
      height = std::max(height, tall);
      x += own + spacing();
      ++end;
    }
    x = rect.left();
    for (; i < end; ++i) {
      const int own = width > 0 ? width : std::min(items_[i]->sizeHint().width(), rect.width());
      if (place) items_[i]->setGeometry(QRect(x, y, own, height));
      x += own + spacing();
    }
    y += height + spacing();
  }
  const QMargins margins = contentsMargins();
  return (items_.empty() ? 0 : y - spacing() - rect.top()) + margins.top() + margins.bottom();
}

}  // namespace lockstep::gui
