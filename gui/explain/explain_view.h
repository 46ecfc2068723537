// Why a step takes as long as it does, as a view of the window: a waterfall from the fair share of another step (one
// GPU's, or the other strategy's on as many GPUs) to the step of a run, and below it the selected difference in words.
#pragma once

#include <QCoreApplication>
#include <QPointer>
#include <QWidget>

#include "gui/charts/view.h"
#include "gui/explain/waterfall_widget.h"

class QComboBox;
class QLabel;

namespace lockstep::gui {

class ExplainView : public View {
  Q_DECLARE_TR_FUNCTIONS(lockstep::gui::ExplainView)

 public:
  ExplainView();
  ~ExplainView() override;

  QString id() const override { return QStringLiteral("explain"); }
  QString title() const override;
  QWidget* widget() override { return page_; }
  void show_result(const Shown& shown) override;
  DataTable table() const override;
  QString description() const override;
  void paint(QPainter& painter, const QRectF& target) override;
  void theme_changed() override;
  bool shows_details() const override { return true; }

  WaterfallWidget& waterfall() { return *waterfall_; }
  QComboBox& runs() { return *runs_; }
  QComboBox& bases() { return *bases_; }
  QString details() const;

 private:
  QComboBox* add_choice(QLayout& bar, const QString& label, const QString& name);
  const Run* chosen() const;
  const Run* base() const;
  void fill_runs();
  void fill_bases();
  void draw();
  void refresh_details();
  QString name_of_run(const Run& run) const;  // "DDP ×8", "1 GPU"
  QString heading() const;
  QString sentence() const;

  QPointer<QWidget> page_;
  WaterfallWidget* waterfall_ = nullptr;
  QComboBox *runs_ = nullptr, *bases_ = nullptr;
  QLabel *sentence_ = nullptr, *details_ = nullptr;
  Shown shown_;
};

}  // namespace lockstep::gui
