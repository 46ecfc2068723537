// The timeline as a view of the window: its widget with buttons and the details of the selected span above; which step
// of opened traces it shows. While hidden it only keeps what it is told.
#pragma once

#include <QPointer>
#include <QWidget>

#include "gui/charts/view.h"
#include "gui/timeline/timeline_widget.h"

class QComboBox;
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
  bool shows_details() const override { return true; }

  TimelineWidget& timeline() {
    build();
    return *timeline_;
  }
  QString details() const;
  // Lights what somebody asked for elsewhere; empty: everything is bright again.
  void light(const std::optional<Focus>& focus);
  void reveal_traces();  // scrolls to the first of them
  QComboBox& traced_step() { return *steps_; }

 private:
  QToolButton* add_button(const QString& text, const QString& tip);
  void refresh_details();
  void fill_steps();
  void build() const;  // what is shown, if it has changed since

  QPointer<QWidget> page_;
  TimelineWidget* timeline_ = nullptr;
  QLabel *details_ = nullptr, *steps_label_ = nullptr;
  QComboBox* steps_ = nullptr;  // of traces: the median one, then each by number
  Shown shown_;
  mutable bool built_ = true;
  mutable bool another_ = true;  // nothing was predicted since the last start
  mutable std::vector<TracedRun> traced_;
  mutable TraceFiles traced_of_;  // what traced_ was made of
  mutable std::optional<std::int64_t> traced_step_;
  QString lit_words_;
};

}  // namespace lockstep::gui
