#include "gui/explain/explain_view.h"

#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/app/glossary.h"
#include "gui/app/theme.h"
#include "gui/charts/device_words.h"
#include "simulator/answers/catalogue.h"
#include "simulator/answers/sentences.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr std::size_t kMostParts = 4;

QString time_text(double seconds) {
  return QString::fromStdString(format_time(seconds));
}

QString term_of(Cause cause) {
  switch (cause) {
    case Cause::ExposedCommunication:
      return QStringLiteral("exposed");
    case Cause::HostBound:
      return QStringLiteral("host_bound");
    case Cause::BucketCopies:
      return QStringLiteral("bucket");
    case Cause::WaitForPeers:
      return QStringLiteral("jitter");
    default:
      return {};
  }
}

// What the all-reduces of a step come to, where that explains what is exposed of them.
QString all_reduces(const Run& run) {
  double bytes = 0, seconds = 0;
  for (const BucketTimes& bucket : run.buckets) {
    bytes += static_cast<double>(bucket.bytes);
    seconds += bucket.transfer_s;
  }
  if (run.buckets.empty()) return {};
  return ExplainView::tr("All-reduces of %1 in %n bucket(s) take %2; computing hides %3 of that.", nullptr,
                         static_cast<int>(run.buckets.size()))
      .arg(QString::fromStdString(format_bytes(bytes)), time_text(seconds), time_text(run.hidden_communication_s));
}

QString amount(double seconds) {
  return seconds > 0 ? time_text(seconds) : ExplainView::tr("nothing");
}

// What the slowest GPU was doing, in the words of `lockstep explain`.
QString was(Cause cause, const Shown& shown) {
  const bool on_cores = devices_of(shown) == Devices::Cores;
  const Sentence phrase = make_sentence(std::string("was_") + name_of(cause), {{"device", on_cores ? "core" : "gpu"}});
  return (on_cores ? ExplainView::tr("The slowest rank was %1.") : ExplainView::tr("The slowest GPU was %1."))
      .arg(QString::fromStdString(phrase.text));
}

QString parts_text(const WaterfallRow& row) {
  if (row.parts.size() < 2) return {};
  QStringList words;
  for (std::size_t i = 0; i < std::min(kMostParts, row.parts.size()); ++i)
    words << QStringLiteral("%1 %2").arg(QString::fromStdString(row.parts[i].detail), time_text(row.parts[i].seconds));
  return ExplainView::tr("Most of it: %1.").arg(words.join(QStringLiteral(", ")));
}

void choose(QComboBox& box, const QStringList& names, int otherwise) {
  const QString before = box.currentText();
  const QSignalBlocker quiet(&box);
  box.clear();
  box.addItems(names);
  box.setCurrentIndex(names.contains(before) ? static_cast<int>(names.indexOf(before)) : otherwise);
}

}  // namespace

ExplainView::ExplainView() : page_(new QWidget) {
  auto* column = new QVBoxLayout(page_);
  column->setContentsMargins(4, 0, 4, 4);
  column->setSpacing(6);
  auto* bar = new QHBoxLayout;
  runs_ = add_choice(*bar, ExplainView::tr("&Step of"), ExplainView::tr("Run that is explained"));
  bases_ = add_choice(*bar, ExplainView::tr("a&gainst"), ExplainView::tr("What it is compared with"));
  bar->addStretch(1);
  column->addLayout(bar);
  sentence_ = new QLabel;
  sentence_->setWordWrap(true);
  column->addWidget(sentence_);
  waterfall_ = new WaterfallWidget;
  page_->setAccessibleName(title());
  waterfall_->setAccessibleName(title());
  column->addWidget(waterfall_, 1);
  details_ = new QLabel;
  details_->setWordWrap(true);
  details_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  details_->setAccessibleName(ExplainView::tr("The selected difference"));
  details_->setMinimumHeight(3 * details_->fontMetrics().lineSpacing() + 4);
  details_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  column->addWidget(details_);
  column->addStretch(0);
  QObject::connect(waterfall_, &WaterfallWidget::selection_changed, page_, [this] { refresh_details(); });
  QObject::connect(runs_, &QComboBox::currentIndexChanged, page_, [this] {
    fill_bases();
    draw();
  });
  QObject::connect(bases_, &QComboBox::currentIndexChanged, page_, [this] { draw(); });
  refresh_details();
}

ExplainView::~ExplainView() {
  if (!page_) return;
  QObject::disconnect(waterfall_, nullptr, page_, nullptr);
  QObject::disconnect(runs_, nullptr, page_, nullptr);
  QObject::disconnect(bases_, nullptr, page_, nullptr);
  if (page_->parent() == nullptr) delete page_;
}

QComboBox* ExplainView::add_choice(QLayout& bar, const QString& label, const QString& name) {
  auto* words = new QLabel(label);
  auto* box = new QComboBox;
  box->setAccessibleName(name);
  box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  words->setBuddy(box);
  bar.addWidget(words);
  bar.addWidget(box);
  return box;
}

QString ExplainView::title() const {
  return ExplainView::tr("Why a step takes so long");
}

void ExplainView::show_result(const Shown& shown) {
  shown_ = shown;
  if (!page_) return;
  fill_runs();
  fill_bases();
  draw();
}

QString ExplainView::name_of_run(const Run& run) const {
  return run_name(run, devices_of(shown_));
}

void ExplainView::fill_runs() {
  QStringList names;
  int focus = -1;
  if (shown_.result) {
    const auto most = focus_run(shown_.result->runs);
    for (const Run* run : runs_of(*shown_.result)) {
      if (most && run == &shown_.result->runs[*most]) focus = static_cast<int>(names.size());
      names << name_of_run(*run);
    }
  }
  choose(*runs_, names, focus);
}

// One GPU, and the other strategies on as many GPUs.
void ExplainView::fill_bases() {
  QStringList names;
  const Run* run = chosen();
  if (run != nullptr)
    for (const Run* other : runs_of(*shown_.result))
      if (other != run && (other->strategy == Strategy::Single || other->gpus == run->gpus))
        names << name_of_run(*other);
  if (names.isEmpty() && run != nullptr) names << name_of_run(*run);
  choose(*bases_, names, names.isEmpty() ? -1 : 0);
}

const Run* ExplainView::chosen() const {
  if (!page_ || !shown_.result) return nullptr;
  for (const Run* run : runs_of(*shown_.result))
    if (name_of_run(*run) == runs_->currentText()) return run;
  return nullptr;
}

const Run* ExplainView::base() const {
  if (!page_ || !shown_.result) return nullptr;
  for (const Run* run : runs_of(*shown_.result))
    if (name_of_run(*run) == bases_->currentText()) return run;
  return nullptr;
}

void ExplainView::draw() {
  if (!page_) return;
  const Run *run = chosen(), *from = base();
  Waterfall waterfall;
  if (run != nullptr && from != nullptr) {
    waterfall = waterfall_of(*from, *run);
    waterfall.devices = devices_of(shown_);
    waterfall.base_name = name_of_run(*from);
    waterfall.run_name = name_of_run(*run);
  }
  waterfall_->show_waterfall(std::move(waterfall), shown_.stale);
  sentence_->setText(sentence());
  waterfall_->setAccessibleDescription(description());
}

QString ExplainView::heading() const {
  const Waterfall& w = waterfall_->waterfall();
  return w.empty() ? title() : ExplainView::tr("From %1 to %2").arg(w.base_name, w.run_name);
}

QString ExplainView::sentence() const {
  const Waterfall& w = waterfall_->waterfall();
  if (w.empty()) return {};
  const QString begin =
      w.shared()
          ? ExplainView::tr("A step of %1 takes %2; its share of the %3 that %4 needs for the same samples is %5.")
                .arg(w.run_name, time_text(w.run_s), time_text(w.base_step_s), w.base_name, time_text(w.base_s))
          : ExplainView::tr("A step of %1 takes %2, one of %3 %4.")
                .arg(w.run_name, time_text(w.run_s), w.base_name, time_text(w.base_s));
  if (w.rows.empty() || w.rows.front().joined) return begin;
  const double most_s = w.rows.front().seconds();  // the first goes the way of the whole
  const QString most =
      most_s > 0 ? ExplainView::tr("Most is lost to %1: %2.") : ExplainView::tr("Most is saved on %1: %2.");
  return begin + ' ' + most.arg(waterfall_->row_name(0), time_text(std::abs(most_s)));
}

QString ExplainView::details() const {
  if (!page_ || waterfall_->selected() < 0) return {};
  const int at = waterfall_->selected();
  const Waterfall& w = waterfall_->waterfall();
  const WaterfallRow& row = w.rows[static_cast<std::size_t>(at)];
  const QString other = w.shared() ? ExplainView::tr("the share of %1").arg(w.base_name) : w.base_name;
  QStringList words{ExplainView::tr("%1: %2 in the step of %3, %4 in %5.")
                        .arg(waterfall_->row_name(at), amount(row.run_s), w.run_name, amount(row.base_s), other)};
  if (row.joined) return words.front();
  words << was(row.cause, shown_);
  const Run* run = chosen();
  if (run != nullptr && row.cause == Cause::ExposedCommunication) words << all_reduces(*run);
  words << parts_text(row);
  words.removeAll(QString());
  return words.join(' ');
}

void ExplainView::refresh_details() {
  const QString words = details();
  details_->setText(words.isEmpty() ? ExplainView::tr("Click a bar, or go from bar to bar by arrow keys, for what it "
                                                      "is made of.")
                                    : words);
  QPalette palette = details_->palette();
  palette.setColor(QPalette::WindowText, words.isEmpty() ? theme().muted : theme().text);
  details_->setPalette(palette);
  const int at = waterfall_->selected();
  const Waterfall& w = waterfall_->waterfall();
  details_->setToolTip(at < 0 ? QString() : term_text(term_of(w.rows[static_cast<std::size_t>(at)].cause)));
  if (!words.isEmpty()) waterfall_->setAccessibleDescription(words);
}

DataTable ExplainView::table() const {
  DataTable table;
  const Waterfall w = page_ ? waterfall_->waterfall() : Waterfall{};
  const QString from = w.empty()    ? ExplainView::tr("compared with")
                       : w.shared() ? ExplainView::tr("share of %1").arg(w.base_name)
                                    : w.base_name;
  table.header = {ExplainView::tr("cause"), ExplainView::tr("%1 (ms)").arg(from),
                  ExplainView::tr("%1 (ms)").arg(w.empty() ? ExplainView::tr("step") : w.run_name),
                  ExplainView::tr("difference (ms)"), ExplainView::tr("difference (% of the step)")};
  if (w.empty()) return table;
  const auto number = [](double seconds) { return QString::fromStdString(format_column(seconds * 1e3, 4)); };
  const auto add = [&](const QString& name, double base_s, double run_s) {
    table.rows.push_back({name, number(base_s), number(run_s), number(run_s - base_s),
                          QString::fromStdString(format_column(100 * (run_s - base_s) / w.run_s, 3))});
  };
  for (std::size_t i = 0; i < w.rows.size(); ++i)
    add(w.rows[i].joined ? ExplainView::tr("everything else") : waterfall_->row_name(static_cast<int>(i)),
        w.rows[i].base_s, w.rows[i].run_s);
  add(ExplainView::tr("step"), w.base_s, w.run_s);
  return table;
}

QString ExplainView::description() const {
  if (!page_ || waterfall_->waterfall().empty()) return {};
  QStringList rows;
  for (int i = 0; i < static_cast<int>(waterfall_->waterfall().rows.size()); ++i)
    rows << QStringLiteral("%1 %2").arg(waterfall_->row_name(i), waterfall_->row_text(i));
  return rows.isEmpty() ? sentence() : sentence() + ' ' + rows.join(QStringLiteral(", ")) + '.';
}

void ExplainView::paint(QPainter& painter, const QRectF& target) {
  painter.fillRect(target, theme().surface);
  if (!page_) return;
  QFont bold = QApplication::font();
  bold.setPointSizeF(bold.pointSizeF() * 1.15);
  bold.setBold(true);
  const QFontMetricsF metrics(bold);
  const qreal base = target.top() + 12 + metrics.ascent();
  painter.setFont(bold);
  painter.setPen(theme().text);
  painter.drawText(QPointF(target.left() + 12, base), heading());
  painter.setFont(QApplication::font());
  painter.setPen(theme().muted);
  const QRectF words(target.left() + 12, base + 6, target.width() - 24, 2 * QFontMetricsF(painter.font()).height());
  painter.drawText(words, Qt::AlignLeft | Qt::TextWordWrap, sentence());
  waterfall_->paint_into(painter, target.adjusted(0, words.bottom() + 8 - target.top(), 0, -8));
}

void ExplainView::theme_changed() {
  if (!page_) return;
  refresh_details();
  waterfall_->update();
}

}  // namespace lockstep::gui
