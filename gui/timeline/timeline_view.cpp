#include "gui/timeline/timeline_view.h"

#include <QApplication>
#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/app/theme.h"
#include "gui/charts/details.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr double kButtonZoom = 1.6;

QString tr(const char* text) {
  return QApplication::translate("lockstep::gui::Timeline", text);
}

QString milliseconds(double seconds) {
  return to_qt(format_column(seconds * 1e3, 5));
}

// Calls when the page is shown.
class WhenShown : public QObject {
 public:
  WhenShown(QObject* parent, std::function<void()> call) : QObject(parent), call_(std::move(call)) {}
  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() == QEvent::Show) call_();
    return false;
  }

 private:
  std::function<void()> call_;
};

}  // namespace

TimelineView::TimelineView() : page_(new QWidget) {
  auto* column = new QVBoxLayout(page_);
  column->setContentsMargins(4, 0, 4, 4);
  column->setSpacing(4);
  auto* bar = new QHBoxLayout;
  bar->setSpacing(4);
  timeline_ = new TimelineWidget;
  page_->setAccessibleName(title());
  timeline_->setAccessibleName(title());
  const auto add = [&](const QString& text, const QString& tip, auto slot) {
    QToolButton* button = add_button(text, tip);
    QObject::connect(button, &QToolButton::clicked, timeline_, slot);
    bar->addWidget(button);
  };
  add(tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "Fit")),
      tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "The whole step (0)")), [this] { timeline_->fit(); });
  add(QStringLiteral("−"), tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "Zoom out (-)")),
      [this] { timeline_->zoom(kButtonZoom); });
  add(QStringLiteral("+"), tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "Zoom in (+)")),
      [this] { timeline_->zoom(1 / kButtonZoom); });
  add(tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "Previous bucket")),
      tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "The collective of the bucket before (,)")),
      [this] { timeline_->go_to_bucket(-1); });
  add(tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "Next bucket")),
      tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "The collective of the bucket after (.)")),
      [this] { timeline_->go_to_bucket(1); });
  bar->addSpacing(10);
  details_ = make_details(tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "The selected span")));
  bar->addWidget(details_, 1);
  steps_label_ = new QLabel(tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "Step of the traces")));
  steps_ = new QComboBox;
  steps_->setAccessibleName(steps_label_->text());
  steps_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  steps_label_->setBuddy(steps_);
  bar->addWidget(steps_label_);
  bar->addWidget(steps_);
  fill_steps();
  column->addLayout(bar);
  column->addWidget(timeline_, 1);
  QObject::connect(timeline_, &TimelineWidget::selection_changed, page_, [this] {
    if (!timeline_->lit()) lit_words_.clear();
    refresh_details();
  });
  QObject::connect(steps_, &QComboBox::currentIndexChanged, page_, [this] {
    built_ = false;
    build();
  });
  page_->installEventFilter(new WhenShown(page_, [this] { build(); }));
  refresh_details();
}

TimelineView::~TimelineView() {
  if (!page_) return;
  built_ = true;  // nothing is built any more
  QObject::disconnect(timeline_, nullptr, page_, nullptr);
  QObject::disconnect(steps_, nullptr, page_, nullptr);
  if (page_->parent() == nullptr) delete page_;
}

QToolButton* TimelineView::add_button(const QString& text, const QString& tip) {
  auto* button = new QToolButton;
  button->setText(text);
  button->setToolTip(tip);
  button->setAccessibleName(tip);
  button->setAutoRaise(true);
  return button;
}

QString TimelineView::title() const {
  return tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "Timeline"));
}

void TimelineView::show_result(const Shown& shown) {
  shown_ = shown;
  built_ = false;
  another_ |= !shown.result;  // the next prediction is of a scenario that was opened since
  if (!page_) return;
  fill_steps();
  if (page_->isVisible()) build();
}

// The choice stays where it is still there.
void TimelineView::fill_steps() {
  const std::vector<std::int64_t> numbers = steps_of(shown_.traces);
  std::vector<std::int64_t> now;
  for (int i = 1; i < steps_->count(); ++i) now.push_back(steps_->itemData(i).toLongLong());
  for (QWidget* one : {static_cast<QWidget*>(steps_label_), static_cast<QWidget*>(steps_)})
    one->setVisible(numbers.size() > 1);
  if (now == numbers && steps_->count() > 0) return;
  const QVariant before = steps_->currentData();
  const QSignalBlocker quiet(steps_);
  steps_->clear();
  steps_->addItem(tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "of median length")));
  for (const std::int64_t number : numbers) steps_->addItem(QString::number(number), QVariant::fromValue(number));
  steps_->setCurrentIndex(before.isValid() ? std::max(0, steps_->findData(before)) : 0);
}

void TimelineView::build() const {
  if (built_ || !page_) return;
  built_ = true;
  std::optional<std::int64_t> step;
  if (steps_->currentData().isValid()) step = steps_->currentData().toLongLong();
  if (traced_of_ != shown_.traces || traced_step_ != step) {
    traced_ = runs_of_traces(shown_.traces, step);
    traced_of_ = shown_.traces;
    traced_step_ = step;
  }
  Timeline timeline = timeline_of(shown_, traced_);
  // Spans follow a result after a few milliseconds: until then the old ones stay, greyed.
  const bool follows = shown_.result && !shown_.stale && timeline.empty();
  if (follows && !another_ && !timeline_->picture().timeline().empty()) {
    timeline_->fade(true);
  } else {
    timeline_->show_timeline(std::move(timeline), shown_.stale);
    if (another_) timeline_->fit();
    another_ = another_ && timeline_->picture().timeline().empty();
  }
  timeline_->setAccessibleDescription(description());
}

void TimelineView::reveal_traces() {
  const auto& groups = timeline().picture().timeline().groups;
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (groups[g].origin == TimelineOrigin::Stored || !groups[g].note.isEmpty())
      return timeline_->reveal_group(static_cast<int>(g));
}

void TimelineView::light(const std::optional<Focus>& focus) {
  if (!page_) return;
  build();
  timeline_->light(focus);
  lit_words_.clear();
  const auto lit = focus ? timeline_->picture().lit_by(*focus) : TimelinePicture::Lit{};
  if (lit.spans > 0) {
    const TimelineGroup& group = timeline_->picture().timeline().groups[static_cast<std::size_t>(lit.first.group)];
    const Devices devices = timeline_->picture().timeline().devices;
    const QString what = focus->cause ? cause_name(*focus->cause, devices)
                         : focus->collectives && focus->copies
                             ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "collectives and copies"))
                         : focus->copies ? lane_name(TimelineLane::Kind::Copy, devices)
                                         : lane_name(TimelineLane::Kind::Communication, devices);
    // Of a wait the collectives are lit that it is for: longer than the wait, because computing hides some of them.
    const double part_s = focus->cause ? group.parts_s[static_cast<std::size_t>(*focus->cause)] : 0;
    const bool waits = focus->cause == Cause::ExposedCommunication || focus->cause == Cause::WaitForPeers ||
                       focus->cause == Cause::Contention;
    lit_words_ =
        (waits ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline",
                                      "Lit: the collectives behind %1 of %2: %3 of them, %4 in all. Esc makes "
                                      "everything bright again."))
               : tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline",
                                      "Lit: %1 of %2, spans: %3, %4 in all. Esc makes everything bright again.")))
            .arg(what, group.title)
            .arg(lit.spans)
            .arg(to_qt(format_time(lit.seconds)));
    // Lanes work at the same time: their spans add up to more than the bar of the step shows.
    if (!waits && part_s > 0 && format_time(part_s) != format_time(lit.seconds))
      lit_words_ = tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline",
                                        "%1 of %2: %3 of the step. Lit: its spans on all lanes, %4 of them, %5 in all, "
                                        "some at the same time. Esc makes everything bright again."))
                       .arg(what, group.title, to_qt(format_time(part_s)))
                       .arg(lit.spans)
                       .arg(to_qt(format_time(lit.seconds)));
  } else if (focus) {
    lit_words_ = tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "No span stands for that in the timeline."));
  }
  refresh_details();
}

QString TimelineView::details() const {
  return page_ ? timeline_->picture().text_of(timeline_->selected(), QStringLiteral("  ·  ")) : QString();
}

void TimelineView::refresh_details() {
  const QString selected = details();
  const QString words = selected.isEmpty() ? lit_words_ : selected;
  show_details(*details_, words,
               tr(QT_TRANSLATE_NOOP(
                   "lockstep::gui::Timeline",
                   "Click a span for its times. The wheel zooms, dragging pans, arrows go from span to span; Help > "
                   "Keys tells the rest.")));
  if (!words.isEmpty()) timeline_->setAccessibleDescription(words);
}

DataTable TimelineView::table() const {
  DataTable table;
  table.header = {tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "run")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "ranks")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "lane")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "cause")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "from")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "spans")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "start (ms)")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "end (ms)")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "busy (ms)")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "bytes"))};
  if (!page_) return table;
  build();
  const Timeline& timeline = timeline_->picture().timeline();
  for (std::size_t g = 0; g < timeline.groups.size(); ++g) {
    const TimelineGroup& group = timeline.groups[g];
    for (const TimelineLane& lane : group.lanes)
      for (std::size_t from = 0; from < lane.spans.size();) {
        std::size_t to = from;
        double busy = 0;
        std::int64_t bytes = 0;
        const bool collective = lane.kind == TimelineLane::Kind::Communication;
        for (; to < lane.spans.size() && lane.spans[to].cause == lane.spans[from].cause; ++to) {
          if (collective && to > from) break;  // each bucket has a row of its own
          busy += lane.spans[to].end_s - lane.spans[to].start_s;
          bytes += lane.spans[to].bytes;
        }
        const LaneSpan& first = lane.spans[from];
        table.rows.push_back(
            {QStringLiteral("%1 %2").arg(group.title, group_words(timeline, static_cast<int>(g)).front()), group.ranks,
             lane_name(lane.kind, timeline.devices), cause_name_in(lane.kind, first.cause, timeline.devices),
             to_qt(visible(timeline.name_of(first))), QString::number(to - from), milliseconds(first.start_s),
             milliseconds(lane.spans[to - 1].end_s), milliseconds(busy),
             bytes > 0 ? QString::number(bytes) : QString()});
        from = to;
      }
  }
  return table;
}

QString TimelineView::description() const {
  build();
  if (!page_ || timeline_->picture().timeline().empty()) return {};
  const Timeline& timeline = timeline_->picture().timeline();
  QStringList sentences;
  for (std::size_t g = 0; g < timeline.groups.size(); ++g)
    sentences << QStringLiteral("%1: %2.").arg(timeline.groups[g].title,
                                               group_words(timeline, static_cast<int>(g)).join(QStringLiteral(", ")));
  return sentences.join(' ');
}

void TimelineView::paint(QPainter& painter, const QRectF& target) {
  painter.fillRect(target, theme().surface);
  if (!page_) return;
  build();
  const double base = draw_heading(painter, target, title());
  timeline_->paint_into(painter, target.adjusted(0, base + 6 - target.top(), 0, 0));
}

void TimelineView::theme_changed() {
  if (!page_) return;
  refresh_details();
  timeline_->update();
}

}  // namespace lockstep::gui
