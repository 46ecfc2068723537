// The map as a widget: hover tells a cell, arrow keys and clicks select one, Enter and a double click take it.
#pragma once

#include <QWidget>
#include <functional>

#include "gui/sweep/heat_picture.h"

namespace lockstep::gui {

class HeatMap : public QWidget {
  Q_OBJECT

 public:
  explicit HeatMap(QWidget* parent = nullptr);
  void show_picture(HeatPicture picture);  // the selection stays where the map has the same size
  const HeatPicture& picture() const { return picture_; }
  void set_words(std::function<QString(std::size_t)> words) { words_ = std::move(words); }  // of a cell
  std::optional<std::size_t> selected() const { return picture_.selected; }
  void select(std::optional<std::size_t> cell);
  QRectF area_of(std::size_t cell) const { return layout().cell(cell); }
  QSize sizeHint() const override { return {560, 380}; }
  QSize minimumSizeHint() const override { return {340, 240}; }

 signals:
  void selection_changed();
  void taken(std::size_t cell);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool event(QEvent* event) override;

 private:
  HeatLayout layout() const;

  HeatPicture picture_;
  std::function<QString(std::size_t)> words_;
};

}  // namespace lockstep::gui
