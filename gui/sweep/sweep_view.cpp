#include "gui/sweep/sweep_view.h"

#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/app/glossary.h"
#include "gui/app/theme.h"
#include "gui/sweep/sweep_runs.h"
#include "gui/sweep/word_label.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr Strategy kStrategies[] = {Strategy::Dp, Strategy::Ddp};

const char* term_of(SweepMetric metric) {
  return metric == SweepMetric::Efficiency ? "efficiency" : metric == SweepMetric::SpeedUp ? "speedup" : "step";
}

}  // namespace

SweepView::SweepView() : page_(new QWidget) {
  auto* column = new QVBoxLayout(page_);
  column->setContentsMargins(4, 0, 4, 4);
  column->setSpacing(5);
  across_ = new AxisEditor(SweepView::tr("Across"));
  up_ = new AxisEditor(SweepView::tr("Up"));
  column->addWidget(across_);
  column->addWidget(up_);
  make_controls();
  map_ = new HeatMap;
  map_->setAccessibleName(title());
  map_->set_words([this](std::size_t cell) { return grid_ ? cell_sentence(*grid_, cell, metric()) : QString(); });
  column->addWidget(map_, 1);
  wrong_ = new WordLabel;
  wrong_->setObjectName(QStringLiteral("wrong"));
  wrong_->hide();
  column->addWidget(wrong_);
  auto* foot = new QHBoxLayout;
  details_ = new WordLabel(2);
  details_->setAccessibleName(SweepView::tr("The selected cell"));
  use_ = new QPushButton(SweepView::tr("&Use these values"));
  use_->setToolTip(
      SweepView::tr("Puts the values of the selected cell into the scenario; Undo takes them back. Enter or a "
                    "double click on the cell does the same."));
  foot->addWidget(details_, 1);
  foot->addWidget(use_, 0, Qt::AlignTop);
  column->addLayout(foot);
  page_->setAccessibleName(title());
  QObject::connect(map_, &HeatMap::selection_changed, page_, [this] { refresh_details(); });
  QObject::connect(map_, &HeatMap::taken, page_, [this](std::size_t cell) { take(cell); });
  QObject::connect(use_, &QPushButton::clicked, page_, [this] {
    if (map_->selected()) take(*map_->selected());
  });
  connect_axis(0);
  connect_axis(1);
  new SightWatch(map_, [this](bool seen) {
    if (seen && !drawn_) draw();
    if (runs_ != nullptr) runs_->want(SweepKind::Map, seen);
  });
  refresh_controls();
  refresh_details();
}

SweepView::~SweepView() {
  if (!page_) return;
  for (QObject* helper : map_->children()) map_->removeEventFilter(helper);
  for (QObject* child : page_->findChildren<QObject*>()) QObject::disconnect(child, nullptr, page_, nullptr);
  map_->set_words({});
  if (page_->parent() == nullptr) delete page_;
}

void SweepView::make_controls() {
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  strategies_ = new QComboBox;
  strategies_->setAccessibleName(SweepView::tr("Strategy of the map"));
  for (const Strategy strategy : kStrategies) strategies_->addItem(strategy_name(strategy));
  metrics_ = new QComboBox;
  metrics_->setAccessibleName(SweepView::tr("What the map shows"));
  for (const SweepMetric one : kSweepMetrics) {
    metrics_->addItem(metric_name(one));
    metrics_->setItemData(metrics_->count() - 1, term_text(QString::fromLatin1(term_of(one))), Qt::ToolTipRole);
  }
  metrics_->setToolTip(term_text(QStringLiteral("efficiency")));
  state_ = new QLabel;
  state_->setObjectName(QStringLiteral("muted"));
  progress_ = new QProgressBar;
  progress_->setFixedWidth(110);
  progress_->setTextVisible(false);
  progress_->setAccessibleName(SweepView::tr("Progress of the map"));
  run_ = new QPushButton;
  auto* show = new QLabel(SweepView::tr("Show"));
  show->setMinimumWidth(show->fontMetrics().horizontalAdvance(QStringLiteral("MMMMMM")));
  show->setBuddy(metrics_);
  row->addWidget(show);
  row->addWidget(metrics_);
  row->addWidget(strategies_);
  row->addStretch(1);
  row->addWidget(state_);
  row->addWidget(progress_);
  row->addWidget(run_);
  static_cast<QVBoxLayout*>(page_->layout())->addLayout(row);
  QObject::connect(metrics_, &QComboBox::currentIndexChanged, page_, [this](int index) {
    metrics_->setToolTip(metrics_->itemData(index, Qt::ToolTipRole).toString());
    draw();
  });
  QObject::connect(strategies_, &QComboBox::activated, page_, [this](int index) {
    if (runs_ != nullptr) runs_->set_strategy(kStrategies[index]);
  });
  QObject::connect(run_, &QPushButton::clicked, page_, [this] {
    if (runs_ == nullptr || !grid_) return;
    grid_->running ? runs_->stop() : runs_->run(SweepKind::Map);
  });
}

void SweepView::connect_axis(std::size_t which) {
  AxisEditor* editor = which == 0 ? across_ : up_;
  QObject::connect(editor, &AxisEditor::key_chosen, page_, [this, which](const std::string& key) {
    if (runs_ != nullptr) runs_->choose_key(which, key);
  });
  QObject::connect(editor, &AxisEditor::values_edited, page_, [this, which, editor](const std::string& values) {
    if (runs_ != nullptr && grid_ && grid_->axes.size() == 2)
      editor->show_errors(runs_->set_axis(which, grid_->axes[which].key, values));
  });
  QObject::connect(editor, &AxisEditor::reset_asked, page_, [this, which] {
    if (runs_ != nullptr && grid_ && grid_->axes.size() == 2) runs_->choose_key(which, grid_->axes[which].key);
  });
}

void SweepView::use(SweepRuns& runs) {
  runs_ = &runs;
  if (map_->isVisible()) runs.want(SweepKind::Map, true);
  refresh_controls();
}

QString SweepView::title() const {
  return SweepView::tr("Two settings");
}

SweepMetric SweepView::metric() const {
  return kSweepMetrics[std::max(0, metrics_->currentIndex())];
}

void SweepView::show_result(const Shown& shown) {
  if (grid_ == shown.sweep && pinned_ == shown.baseline) return;
  grid_ = shown.sweep;
  pinned_ = shown.baseline;
  drawn_ = false;
  if (!page_) return;
  if (map_->isVisible()) draw();
}

void SweepView::theme_changed() {
  if (page_) map_->update();
}

void SweepView::draw() {
  if (!page_) return;
  drawn_ = true;
  HeatPicture picture = grid_ ? heat_picture(*grid_, metric()) : HeatPicture();
  if (picture.empty.isEmpty()) picture.empty = SweepView::tr("No prediction yet");
  map_->show_picture(std::move(picture));
  refresh_controls();
  refresh_details();
  for (QWidget* widget : {page_.data(), static_cast<QWidget*>(map_)}) widget->setAccessibleDescription(description());
}

void SweepView::refresh_controls() {
  const bool there = grid_ && grid_->axes.size() == 2;
  for (QWidget* widget : {static_cast<QWidget*>(across_), static_cast<QWidget*>(up_)})
    widget->setEnabled(there && runs_ != nullptr);
  strategies_->setEnabled(there && runs_ != nullptr);
  if (there && runs_ != nullptr) {
    const AxisKeys keys = axis_keys(runs_->context());
    across_->show_axis(grid_->axes[0], keys);
    up_->show_axis(grid_->axes[1], keys);
    strategies_->setCurrentIndex(grid_->strategy == Strategy::Dp ? 0 : 1);
  }
  const int all = there ? static_cast<int>(grid_->cells.size()) : 0;
  const bool running = there && grid_->running, partial = there && grid_->done < all;
  progress_->setVisible(running);
  progress_->setRange(0, std::max(1, all));
  progress_->setValue(there ? grid_->done : 0);
  run_->setVisible(runs_ != nullptr && partial && !grid_->stale);
  run_->setText(running ? SweepView::tr("Stop") : SweepView::tr("Simulate"));
  QString state;
  if (running)
    state = SweepView::tr("simulated: %1 of %2").arg(grid_->done).arg(all);
  else if (there && grid_->stale)
    state = SweepView::tr("out of date");
  else if (partial)
    state = grid_->done == 0 ? SweepView::tr("estimates")
                             : SweepView::tr("simulated: %1 of %2, the rest estimates").arg(grid_->done).arg(all);
  state_->setText(state);
  wrong_->setVisible(grid_ && !grid_->failure.isEmpty());
  if (grid_) wrong_->say(grid_->failure);
}

void SweepView::refresh_details() {
  const auto cell = map_->selected();
  const bool there = grid_ && !map_->picture().is_empty();
  QString text = !there ? QString() : cell ? cell_sentence(*grid_, *cell, metric()) : grid_sentence(*grid_, metric());
  if (there && cell && pinned_) text += QStringLiteral(". ") + cell_against(*grid_, *cell, metric(), *pinned_);
  if (there && !cell && !grid_->note.isEmpty()) text += QChar(' ') + grid_->note;
  details_->say(text);
  use_->setEnabled(runs_ != nullptr && there && cell && !grid_->stale && grid_->present != cell &&
                   grid_->cells[*cell].state != CellState::NotRun);
  use_->setVisible(runs_ != nullptr);
  if (there && cell) map_->setAccessibleDescription(text);
}

void SweepView::take(std::size_t cell) {
  if (runs_ == nullptr || !grid_ || grid_->stale || cell >= grid_->cells.size()) return;
  if (grid_->cells[cell].state == CellState::NotRun) return;
  const Errors errors = runs_->apply_cell(cell);
  if (errors.empty()) return;
  wrong_->say(QString::fromStdString(to_text(errors.front())));
  wrong_->show();
}

QString SweepView::details() const {
  return details_->text();
}

DataTable SweepView::table() const {
  DataTable table;
  if (!grid_ || grid_->axes.size() != 2) {
    table.header = {SweepView::tr("across"), SweepView::tr("up")};
    return table;
  }
  const QString unit = metric_scale(*grid_, SweepMetric::Throughput).unit;
  table.header = {QString::fromStdString(grid_->axes[0].key),
                  QString::fromStdString(grid_->axes[1].key),
                  SweepView::tr("strategy"),
                  SweepView::tr("GPUs"),
                  SweepView::tr("step (ms)"),
                  SweepView::tr("throughput (%1)").arg(unit),
                  SweepView::tr("efficiency (%)"),
                  SweepView::tr("speed-up"),
                  SweepView::tr("fits in memory"),
                  SweepView::tr("remark")};
  const auto number = [](double value) { return QString::fromStdString(format_column(value, 4)); };
  for (std::size_t i = 0; i < grid_->cells.size() && grid_->across() > 0; ++i) {
    const SweepCell& cell = grid_->cells[i];
    QStringList row = {QString::fromStdString(grid_->axes[0].names[i % grid_->across()]),
                       QString::fromStdString(grid_->axes[1].names[i / grid_->across()]),
                       QString::fromLatin1(name_of(grid_->strategy)), QString()};
    if (cell.gpus > 0) row[3] = QString::number(cell.gpus);
    if (cell.state == CellState::Known)
      row << number(cell.step_s * 1e3) << number(cell.throughput) << number(cell.efficiency * 100)
          << number(cell.speedup) << (cell.fits ? SweepView::tr("yes") : SweepView::tr("no"));
    else
      row << QString() << QString() << QString() << QString() << QString();
    row << (cell.state == CellState::NotRun    ? QString::fromStdString(cell.reason)
            : cell.state == CellState::Pending ? SweepView::tr("not computed yet")
            : cell.estimated                   ? SweepView::tr("estimate")
                                               : SweepView::tr("simulated"));
    table.rows.push_back(row);
  }
  return table;
}

QString SweepView::description() const {
  const QString sentence = grid_ ? grid_sentence(*grid_, metric()) : QString();
  return sentence.isEmpty() ? SweepView::tr("No prediction yet") : sentence;
}

// The map with its message below.
void SweepView::paint(QPainter& painter, const QRectF& target) {
  if (!page_) return;
  painter.fillRect(target, theme().surface);
  HeatPicture picture = grid_ ? heat_picture(*grid_, metric()) : HeatPicture();
  if (picture.is_empty()) {
    if (picture.empty.isEmpty()) picture.empty = SweepView::tr("No prediction yet");
    return paint_heat(painter, target, picture, true);
  }
  const QString text = grid_sentence(*grid_, metric());
  const QFont font = QApplication::font();
  const QRectF words =
      QFontMetricsF(font).boundingRect(QRectF(0, 0, target.width() - 36, 1000), Qt::TextWordWrap, text);
  const qreal height = words.height() + 16;
  paint_heat(painter, target.adjusted(0, 0, 0, -height), picture, true);
  painter.setFont(font);
  painter.setPen(theme().text);
  painter.drawText(QRectF(target.left() + 18, target.bottom() - height + 4, target.width() - 36, height - 6),
                   Qt::TextWordWrap, text);
}

}  // namespace lockstep::gui
