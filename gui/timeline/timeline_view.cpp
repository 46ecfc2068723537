#include "gui/timeline/timeline_view.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/app/theme.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr double kButtonZoom = 1.6;

QString tr(const char* text) {
  return QApplication::translate("lockstep::gui::Timeline", text);
}

QString milliseconds(double seconds) {
  return QString::fromStdString(format_column(seconds * 1e3, 5));
}

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
  details_ = new QLabel;
  details_->setWordWrap(true);
  details_->setTextFormat(Qt::PlainText);
  details_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  details_->setAccessibleName(tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline", "The selected span")));
  details_->setMinimumHeight(2 * details_->fontMetrics().lineSpacing() + 4);
  details_->setAlignment(Qt::AlignVCenter | Qt::AlignLeft);
  details_->setMargin(2);
  bar->addWidget(details_, 1);
  column->addLayout(bar);
  column->addWidget(timeline_, 1);
  QObject::connect(timeline_, &TimelineWidget::selection_changed, page_, [this] { refresh_details(); });
  refresh_details();
}

TimelineView::~TimelineView() {
  if (!page_) return;
  QObject::disconnect(timeline_, nullptr, page_, nullptr);
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
  if (!page_) return;
  Timeline timeline = timeline_of(shown);
  // Spans follow a result after a few milliseconds: until then the old ones stay, greyed.
  const bool follows = shown.result && !shown.stale && timeline.empty();
  if (follows && !timeline_->picture().timeline().empty())
    timeline_->fade(true);
  else
    timeline_->show_timeline(std::move(timeline), shown.stale);
  timeline_->setAccessibleDescription(description());
}

QString TimelineView::details() const {
  return page_ ? timeline_->picture().text_of(timeline_->selected(), QStringLiteral("  ·  ")) : QString();
}

void TimelineView::refresh_details() {
  const QString text = details();
  details_->setText(
      !text.isEmpty()
          ? text
          : tr(QT_TRANSLATE_NOOP("lockstep::gui::Timeline",
                                 "Click a span for its times. Wheel, + and − zoom, drag pans; arrows go from span to "
                                 "span, . and , from bucket to bucket, 0 fits the step.")));
  QPalette palette = details_->palette();
  palette.setColor(QPalette::WindowText, text.isEmpty() ? theme().muted : theme().text);
  details_->setPalette(palette);
  if (!text.isEmpty()) timeline_->setAccessibleDescription(text);
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
             lane_name(lane.kind), cause_name_in(lane.kind, first.cause),
             QString::fromStdString(visible(timeline.name_of(first))), QString::number(to - from),
             milliseconds(first.start_s), milliseconds(lane.spans[to - 1].end_s), milliseconds(busy),
             bytes > 0 ? QString::number(bytes) : QString()});
        from = to;
      }
  }
  return table;
}

QString TimelineView::description() const {
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
  QFont bold = QApplication::font();
  bold.setPointSizeF(bold.pointSizeF() * 1.15);
  bold.setBold(true);
  const QFontMetricsF metrics(bold);
  painter.setFont(bold);
  painter.setPen(theme().text);
  painter.drawText(QPointF(target.left() + 12, target.top() + 12 + metrics.ascent()), title());
  timeline_->paint_into(painter, target.adjusted(0, 14 + metrics.height(), 0, 0));
}

void TimelineView::theme_changed() {
  if (!page_) return;
  refresh_details();
  timeline_->update();
}

}  // namespace lockstep::gui
