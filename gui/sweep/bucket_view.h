// The step of DDP over the bucket cap, with the exposed communication below it, the caps that are as good as the best
// shaded, the best and the present one marked, and a button that takes the best.
#pragma once

#include <QCoreApplication>
#include <QPointer>
#include <memory>

#include "gui/charts/axis.h"
#include "gui/charts/chart_panel.h"
#include "gui/charts/view.h"
#include "gui/sweep/bucket_curve.h"
#include "gui/sweep/sweep_user.h"

class QCategoryAxis;
class QProgressBar;
class QPushButton;
class QValueAxis;

namespace lockstep::gui {

class WordLabel;

class BucketView : public View, public SweepUser {
  Q_DECLARE_TR_FUNCTIONS(lockstep::gui::BucketView)

 public:
  BucketView();
  ~BucketView() override;

  QString id() const override { return QStringLiteral("bucket-size"); }
  QString title() const override;
  QWidget* widget() override { return page_; }
  void show_result(const Shown& shown) override;
  DataTable table() const override;
  QString description() const override;
  void paint(QPainter& painter, const QRectF& target) override;
  void theme_changed() override;
  void use(SweepRuns& runs) override;

  ChartPanel& chart() { return *panel_; }
  QPushButton& apply_button() { return *apply_; }
  QPushButton& run_button() { return *run_; }
  QString sentence() const;

 private:
  void make_row();
  void draw();
  void draw_axes();
  void add_lines();
  void draw_over(QPainter& painter) const;
  void draw_counts(QPainter& painter) const;
  void draw_mark(QPainter& painter, const BucketPoint& point, const QString& word, bool above) const;
  void refresh_row();
  std::vector<const BucketPoint*> known_points() const;  // as hot spots have them
  QPointF at(const BucketPoint& point) const;
  bool empty() const;

  QPointer<QWidget> page_;
  ChartPanel* panel_ = nullptr;
  WordLabel *sentence_ = nullptr, *wrong_ = nullptr;
  QPushButton *apply_ = nullptr, *run_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QCategoryAxis* x_ = nullptr;
  QValueAxis* y_ = nullptr;
  SweepRuns* runs_ = nullptr;
  AxisUnit unit_;
  std::shared_ptr<const BucketCurve> curve_, pinned_;
  bool drawn_ = false;
};

}  // namespace lockstep::gui
