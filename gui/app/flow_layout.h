// Widgets in lines, as words in a text. (After the idea of Qt's example of that name; equal widths for cards.)
#pragma once

#include <QLayout>
#include <vector>

namespace lockstep::gui {

class FlowLayout : public QLayout {
 public:
  // least_width: every item gets the same width of at least that, filling the line; 0: each its own.
  explicit FlowLayout(QWidget* parent = nullptr, int spacing = 8, int least_width = 0);
  ~FlowLayout() override;

  void addItem(QLayoutItem* item) override { items_.push_back(item); }
  int count() const override { return static_cast<int>(items_.size()); }
  QLayoutItem* itemAt(int index) const override;
  QLayoutItem* takeAt(int index) override;
  Qt::Orientations expandingDirections() const override { return {}; }
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override { return arrange(QRect(0, 0, width, 0), false); }
  void setGeometry(const QRect& rect) override;
  QSize sizeHint() const override { return minimumSize(); }
  QSize minimumSize() const override;
  void clear();  // deletes the widgets

 private:
  int arrange(const QRect& rect, bool place) const;
  std::vector<QLayoutItem*> items_;
  int least_width_;
};

}  // namespace lockstep::gui
