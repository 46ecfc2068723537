// A label of words that is never lower than its text needs.
#pragma once

#include <QLabel>
#include <algorithm>

namespace lockstep::gui {

class WordLabel : public QLabel {
 public:
  explicit WordLabel(int least_lines = 1) : least_lines_(least_lines) {
    setWordWrap(true);
    setTextFormat(Qt::PlainText);
    setTextInteractionFlags(Qt::TextSelectableByMouse);
    setAlignment(Qt::AlignTop | Qt::AlignLeft);
  }
  void say(const QString& words) {
    setText(words);
    fit();
  }

 protected:
  void resizeEvent(QResizeEvent* event) override {
    QLabel::resizeEvent(event);
    fit();
  }

 private:
  void fit() {
    const int least = least_lines_ * fontMetrics().lineSpacing();
    setMinimumHeight(std::max(least, text().isEmpty() ? 0 : heightForWidth(width())));
  }
  int least_lines_;
};

}  // namespace lockstep::gui
