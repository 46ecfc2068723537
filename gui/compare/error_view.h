// Predicted against measured: the error of every row that is both, with what the prediction does not know and what the
// measurement varies by, and which parts of the step the difference is in.
#pragma once

#include <QCoreApplication>
#include <QPointer>

#include "gui/compare/diverging_widget.h"
#include "gui/compare/error_rows.h"

namespace lockstep::gui {

class ErrorView : public View {
  Q_DECLARE_TR_FUNCTIONS(lockstep::gui::ErrorView)

 public:
  ErrorView();
  ~ErrorView() override;

  QString id() const override { return QStringLiteral("error"); }
  QString title() const override;
  QWidget* widget() override { return widget_; }
  void show_result(const Shown& shown) override;
  DataTable table() const override;
  QString description() const override;
  void paint(QPainter& painter, const QRectF& target) override;
  void theme_changed() override;

  const std::vector<ErrorSet>& sets() const;  // as compared now

 private:
  void draw();
  DivergingPicture picture() const;
  void add_rows(DivergingPicture& picture, const ErrorSet& set) const;
  QString callout(const ErrorSet& set, const ErrorPoint& point) const;
  QString place_word(const ErrorPoint& point) const;
  QString parts_text(const ErrorPoint& point, std::size_t most) const;
  QString empty_text() const;

  QPointer<DivergingWidget> widget_;
  Shown shown_;
  Devices devices_ = Devices::Gpus;
  mutable std::vector<ErrorSet> sets_;
  mutable bool compared_ = false;  // sets_ is of shown_
  bool drawn_ = false;             // a hidden view waits until it is seen
};

}  // namespace lockstep::gui
