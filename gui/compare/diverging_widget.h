// A DivergingChart under pointer and arrow keys, which scrolls where it is higher than its place.
#pragma once

#include <QScrollArea>
#include <functional>

#include "gui/compare/diverging_chart.h"

namespace lockstep::gui {

class DivergingWidget : public QScrollArea {
  Q_OBJECT

 public:
  explicit DivergingWidget(QWidget* parent = nullptr);
  void show_picture(DivergingPicture picture);
  void set_faded(bool faded);  // stale: grey
  // Called before it is seen: whoever fills it may wait until then.
  void set_filler(std::function<void()> fill) { fill_ = std::move(fill); }
  void paint_into(QPainter& painter, const QRectF& target);
  const DivergingPicture& picture() const { return chart_.picture(); }
  int current() const { return current_; }  // the row with its callout; -1: none

 protected:
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void select(int row);
  void fit();

  DivergingChart chart_;
  std::function<void()> fill_;
  QWidget* canvas_ = nullptr;
  int current_ = -1;
  bool faded_ = false;
};

}  // namespace lockstep::gui
