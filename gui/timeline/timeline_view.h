// The timeline as a view of the window: its widget with buttons and the details of the selected span above.
#pragma once

#include <QPointer>
#include <QWidget>

#include "gui/charts/view.h"
#include "gui/timeline/timeline_widget.h"

class QLabel;
class QToolButton;

namespace lockstep::gui {

class TimelineView : public View {
 public:
  TimelineView();
  ~TimelineView() override;

  QString id() const override { return QStringLiteral("timeline"); }
  QString title() const override;
  QWidget* widget() override { return page_; }
  void show_result(const Shown& shown) override;
  // Stretches: consecutive spans of one lane and cause are a row.
  DataTable table() const override;
  QString description() const override;
  void paint(QPainter& painter, const QRectF& target) override;
  void theme_changed() override;

  TimelineWidget& timeline() { return *timeline_; }
  QString details() const;

 private:
  QToolButton* add_button(const QString& text, const QString& tip);
  void refresh_details();

  QPointer<QWidget> page_;
  TimelineWidget* timeline_ = nullptr;
  QLabel* details_ = nullptr;
};

}  // namespace lockstep::gui
