#include "gui/sweep/bucket_view.h"

#include <QApplication>
#include <QAreaSeries>
#include <QCategoryAxis>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineSeries>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>
#include <QValueAxis>
#include <algorithm>
#include <cmath>

#include "gui/app/glossary.h"
#include "gui/app/theme.h"
#include "gui/sweep/sweep_runs.h"
#include "gui/sweep/word_label.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr double kMiB = 1 << 20;

double octave(double bytes) {
  return std::log2(bytes / kMiB);
}

bool is_known(const BucketPoint& point) {
  return point.cell.state == CellState::Known;
}

// Enter takes the point that the arrow keys have reached.
class EnterKey : public QObject {
 public:
  EnterKey(ChartPanel* chart, std::function<void(int)> take) : QObject(chart), chart_(chart), take_(std::move(take)) {
    chart->installEventFilter(this);
  }
  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() != QEvent::KeyPress || chart_->callout() < 0) return false;
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key != Qt::Key_Return && key != Qt::Key_Enter) return false;
    take_(chart_->callout());
    return true;
  }

 private:
  ChartPanel* chart_;
  std::function<void(int)> take_;
};

}  // namespace

BucketView::BucketView() : page_(new QWidget), panel_(new ChartPanel) {
  auto* column = new QVBoxLayout(page_);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(6);
  column->addWidget(panel_, 1);
  panel_->show_title(false);
  make_row();
  x_ = new QCategoryAxis(panel_->chart());
  x_->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  y_ = new QValueAxis(panel_->chart());
  panel_->chart()->addAxis(x_, Qt::AlignBottom);
  panel_->chart()->addAxis(y_, Qt::AlignLeft);
  page_->setAccessibleName(title());
  panel_->setAccessibleName(title());
  panel_->set_overlay([this](QPainter& painter) { draw_over(painter); });
  panel_->set_filler([this] {
    if (!drawn_) draw();
  });
  new EnterKey(panel_, [this](int spot) {
    const auto points = known_points();
    if (runs_ != nullptr && spot < static_cast<int>(points.size()))
      runs_->apply_cap(BucketPoint(*points[static_cast<std::size_t>(spot)]));
  });
  new SightWatch(panel_, [this](bool seen) {
    if (runs_ != nullptr) runs_->want(SweepKind::Curve, seen);
  });
}

BucketView::~BucketView() {
  if (!page_) return;
  panel_->set_overlay({});
  panel_->set_filler({});
  for (QObject* helper : panel_->children()) panel_->removeEventFilter(helper);
  for (QObject* child : page_->findChildren<QObject*>()) QObject::disconnect(child, nullptr, page_, nullptr);
  if (page_->parent() == nullptr) delete page_;
}

void BucketView::make_row() {
  auto* row = new QHBoxLayout;
  row->setContentsMargins(14, 0, 8, 4);
  auto* words = new QVBoxLayout;
  sentence_ = new WordLabel;
  sentence_->setToolTip(term_text(QStringLiteral("bucket")));
  sentence_->setAccessibleName(BucketView::tr("Best bucket size"));
  wrong_ = new WordLabel;
  wrong_->setObjectName(QStringLiteral("wrong"));
  wrong_->hide();
  words->addWidget(sentence_);
  words->addWidget(wrong_);
  row->addLayout(words, 1);
  progress_ = new QProgressBar;
  progress_->setFixedWidth(110);
  progress_->setTextVisible(false);
  progress_->setAccessibleName(BucketView::tr("Progress of the bucket sizes"));
  run_ = new QPushButton;
  apply_ = new QPushButton;
  row->addWidget(progress_);
  row->addWidget(run_);
  row->addWidget(apply_);
  static_cast<QVBoxLayout*>(page_->layout())->addLayout(row);
  QObject::connect(apply_, &QPushButton::clicked, page_, [this] {
    const BucketPoint* best = curve_ ? fastest_of(*curve_) : nullptr;
    if (best != nullptr && runs_ != nullptr) runs_->apply_cap(BucketPoint(*best));
  });
  QObject::connect(run_, &QPushButton::clicked, page_, [this] {
    if (runs_ == nullptr || !curve_) return;
    curve_->running ? runs_->stop() : runs_->run(SweepKind::Curve);
  });
  refresh_row();
}

void BucketView::use(SweepRuns& runs) {
  runs_ = &runs;
  if (panel_->isVisible()) runs.want(SweepKind::Curve, true);
  refresh_row();
}

QString BucketView::title() const {
  return BucketView::tr("Bucket size");
}

bool BucketView::empty() const {
  return !curve_ || std::none_of(curve_->points.begin(), curve_->points.end(), is_known);
}

void BucketView::show_result(const Shown& shown) {
  if (curve_ == shown.bucket_curve && pinned_ == shown.baseline_curve) return;
  curve_ = shown.bucket_curve;
  pinned_ = shown.baseline_curve;
  drawn_ = false;
  if (!page_) return;
  if (panel_->isVisible()) draw();
  refresh_row();
  for (QWidget* widget : {page_.data(), static_cast<QWidget*>(panel_)}) widget->setAccessibleDescription(description());
}

void BucketView::theme_changed() {
  drawn_ = false;
  if (page_ && panel_->isVisible()) draw();
}

QString BucketView::sentence() const {
  return sentence_->text();
}

void BucketView::refresh_row() {
  const BucketPoint* best = curve_ ? fastest_of(*curve_) : nullptr;
  const BucketPoint* present = curve_ ? present_of(*curve_) : nullptr;
  QString text = empty() ? QString() : curve_sentence(*curve_);
  if (!empty() && curve_->stale) text = BucketView::tr("Out of date. %1").arg(text);
  sentence_->say(text);
  sentence_->setEnabled(curve_ && !curve_->stale);
  const bool failed = curve_ && !curve_->failure.isEmpty();
  wrong_->setVisible(failed);
  if (failed) wrong_->say(curve_->failure);
  const bool running = curve_ && curve_->running;
  progress_->setVisible(running);
  if (running) {
    progress_->setRange(0, static_cast<int>(curve_->points.size()) + (curve_->usual ? 1 : 0));
    progress_->setValue(curve_->done);
  }
  run_->setVisible(runs_ != nullptr && !empty() && (running || curve_->estimated()));
  run_->setText(running ? BucketView::tr("Stop") : BucketView::tr("Simulate"));
  apply_->setVisible(runs_ != nullptr && best != nullptr);
  apply_->setEnabled(best != nullptr && present != best && gain_of(*curve_, *best) >= kWorthAWord && !curve_->stale);
  if (best != nullptr) {
    apply_->setText(best->is_default ? BucketView::tr("&Use the default")
                                     : BucketView::tr("&Use %1").arg(cap_text(*best)));
    apply_->setToolTip(!apply_->isEnabled()
                           ? BucketView::tr("No cap that was tried is faster than the present one")
                           : BucketView::tr("ddp.bucket_cap=%1: %2 % less than now; Undo takes it back")
                                 .arg(QString::fromStdString(best->yaml), three_digits(100 * gain_of(*curve_, *best))));
  }
}

// Known points, the default last, as arrow keys walk them.
std::vector<const BucketPoint*> BucketView::known_points() const {
  std::vector<const BucketPoint*> points;
  if (!curve_) return points;
  for (const BucketPoint& point : curve_->points)
    if (is_known(point)) points.push_back(&point);
  if (curve_->usual && is_known(*curve_->usual)) points.push_back(&*curve_->usual);
  return points;
}

QPointF BucketView::at(const BucketPoint& point) const {
  return {octave(point.cap_bytes), point.cell.step_s / unit_.scale};
}

void BucketView::draw() {
  if (!page_) return;
  drawn_ = true;
  panel_->chart()->removeAllSeries();
  double most = 0;
  const auto points = known_points();
  for (const BucketPoint* point : points) most = std::max(most, point->cell.step_s);
  if (pinned_)
    for (const BucketPoint& point : pinned_->points) most = std::max(most, point.cell.step_s);
  unit_ = time_unit(most);
  panel_->set_heading(
      title(),
      empty() ? QString()
              : BucketView::tr("%1 per step of DDP on %2 GPUs, over the cap in MiB").arg(unit_.name).arg(curve_->gpus));
  draw_axes();
  y_->setRange(0, 1);
  const Ticks ticks = nice_ticks(0, 1.12 * most / unit_.scale, 5);
  y_->setTickCount(ticks.count());
  y_->setRange(ticks.low, ticks.high);
  y_->setLabelFormat(QStringLiteral("%.%1f").arg(ticks.decimals));
  add_lines();
  auto* frame = new QLineSeries;  // gives the overlay its coordinates
  frame->append(0, 0);
  panel_->chart()->addSeries(frame);
  frame->attachAxis(x_);
  frame->attachAxis(y_);
  frame->setVisible(false);
  std::vector<LegendItem> legend;
  std::vector<HotSpot> spots;
  if (!empty()) {
    const QColor line = theme().strategy(Strategy::Ddp);
    legend.push_back({curve_->estimated() ? LegendItem::Mark::Dashed : LegendItem::Mark::Line, line,
                      curve_->estimated() ? BucketView::tr("step, estimate") : BucketView::tr("step")});
    legend.push_back({LegendItem::Mark::Hatched, theme().cause(Cause::ExposedCommunication),
                      cause_name(Cause::ExposedCommunication)});
    legend.push_back({LegendItem::Mark::Band, theme().good, BucketView::tr("within 1 % of the fastest")});
    if (pinned_) legend.push_back({LegendItem::Mark::Dotted, line, BucketView::tr("pinned")});
    for (const BucketPoint* point : points) {
      const QString against = pinned_ ? point_against(*point, *pinned_) : QString();
      spots.push_back({QRectF(at(*point), QSizeF(0, 0)),
                       point_sentence(*point) + (against.isEmpty() ? QString() : QChar('\n') + against)});
    }
  }
  panel_->set_legend(std::move(legend));
  panel_->set_hot_spots(std::move(spots), frame);
  panel_->set_faded(curve_ && curve_->stale);
  panel_->set_empty_text(!empty()                               ? QString()
                         : curve_ && !curve_->missing.isEmpty() ? curve_->missing
                                                                : BucketView::tr("No prediction yet"));
}

void BucketView::draw_axes() {
  const Theme& t = theme();
  for (QAbstractAxis* axis : {static_cast<QAbstractAxis*>(x_), static_cast<QAbstractAxis*>(y_)}) {
    axis->setLabelsColor(t.muted);
    axis->setLinePenColor(t.border);
    axis->setGridLineColor(t.grid);
    axis->setVisible(!empty());
    axis->setTruncateLabels(false);
    axis->setLabelsFont(QApplication::font());
  }
  x_->setGridLineVisible(false);
  for (const QString& label : x_->categoriesLabels()) x_->remove(label);
  if (empty()) return;
  const double low = octave(curve_->points.front().cap_bytes), high = octave(curve_->points.back().cap_bytes);
  for (double mib = 0.5; octave(mib * kMiB) <= high + 0.01; mib *= 2)
    x_->append(QString::number(mib), octave(mib * kMiB));
  x_->setRange(low - 0.4, high + 0.4);
}

void BucketView::add_lines() {
  if (empty()) return;
  const auto series_of = [&](const BucketCurve& curve, bool exposed) {
    auto* series = new QLineSeries(panel_->chart());
    for (const BucketPoint& point : curve.points)
      if (is_known(point))
        series->append(octave(point.cap_bytes), (exposed ? point.cell.exposed_s : point.cell.step_s) / unit_.scale);
    return series;
  };
  const auto add = [&](QAbstractSeries* series) {
    panel_->chart()->addSeries(series);
    series->attachAxis(x_);
    series->attachAxis(y_);
  };
  const QColor colour = theme().strategy(Strategy::Ddp);
  if (pinned_) {
    QLineSeries* before = series_of(*pinned_, false);
    QPen pen(colour, 1.3);
    pen.setDashPattern({1, 2.5});
    before->setPen(pen);
    add(before);
  }
  QLineSeries* step = series_of(*curve_, false);
  QPen pen(colour, 2.6, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin);
  if (curve_->estimated()) pen.setDashPattern({3, 2.2});
  step->setPen(pen);
  add(step);
}

DataTable BucketView::table() const {
  DataTable table;
  table.header = {BucketView::tr("bucket cap (MiB)"),
                  BucketView::tr("step (ms)"),
                  BucketView::tr("exposed communication (ms)"),
                  BucketView::tr("hidden communication (ms)"),
                  BucketView::tr("buckets"),
                  BucketView::tr("remark")};
  if (!curve_) return table;
  std::vector<const BucketPoint*> points;
  for (const BucketPoint& point : curve_->points) points.push_back(&point);
  if (curve_->usual) points.push_back(&*curve_->usual);
  const BucketPoint *best = fastest_of(*curve_), *present = present_of(*curve_);
  const auto ms = [](double seconds) { return QString::fromStdString(format_column(seconds * 1e3, 4)); };
  for (const BucketPoint* point : points) {
    QStringList remarks;
    if (point->is_default) remarks << BucketView::tr("default: the first bucket 1 MiB");
    if (point == best) remarks << BucketView::tr("fastest");
    if (point == present) remarks << BucketView::tr("present");
    if (is_known(*point) && point->cell.estimated) remarks << BucketView::tr("estimate");
    if (!point->cell.fits) remarks << BucketView::tr("does not fit in memory");
    if (point->cell.state == CellState::NotRun) remarks << QString::fromStdString(point->cell.reason);
    QStringList row = {QString::fromStdString(format_significant(point->cap_bytes / kMiB, 6))};
    if (is_known(*point))
      row << ms(point->cell.step_s) << ms(point->cell.exposed_s) << ms(point->cell.hidden_s)
          << QString::number(point->cell.buckets);
    else
      row << QString() << QString() << QString() << QString();
    table.rows.push_back(row << remarks.join(QStringLiteral(", ")));
  }
  return table;
}

QString BucketView::description() const {
  if (empty()) return curve_ && !curve_->missing.isEmpty() ? curve_->missing : BucketView::tr("No prediction yet");
  return BucketView::tr("DDP on %1 GPUs. %2").arg(curve_->gpus).arg(curve_sentence(*curve_));
}

// The chart, and its message below it.
void BucketView::paint(QPainter& painter, const QRectF& target) {
  if (!page_) return;
  QFont font = QApplication::font();
  const QString text = empty() ? QString() : curve_sentence(*curve_);
  const qreal height =
      text.isEmpty()
          ? 0
          : QFontMetricsF(font).boundingRect(QRectF(0, 0, target.width() - 36, 1000), Qt::TextWordWrap, text).height() +
                18;
  panel_->paint_into(painter, target.adjusted(0, 0, 0, -height));
  if (text.isEmpty()) return;
  const QRectF foot(target.left(), target.bottom() - height, target.width(), height);
  painter.fillRect(foot, theme().surface);
  painter.setFont(font);
  painter.setPen(theme().text);
  painter.drawText(foot.adjusted(18, 4, -18, -6), Qt::TextWordWrap, text);
}

}  // namespace lockstep::gui
