#include "gui/topology/topology_view.h"

#include <QApplication>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <set>

#include "gui/app/theme.h"
#include "gui/charts/details.h"
#include "gui/charts/device_words.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

QString tr(const char* text) {
  return QApplication::translate("lockstep::gui::Topology", text);
}

QString class_name(const std::string& link_class) {
  if (link_class == "nvlink") return QStringLiteral("NVLink");
  if (link_class == "pcie") return QStringLiteral("PCIe");
  if (link_class == "uplink") return tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "the uplinks of PCIe switches"));
  if (link_class == "nic") return tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "the network"));
  if (link_class == "wan") return tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "the line between the sites"));
  return tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "the memory of the host"));
}

}  // namespace

TopologyView::TopologyView() : page_(new QWidget) {
  auto* column = new QVBoxLayout(page_);
  column->setContentsMargins(4, 0, 4, 4);
  column->setSpacing(4);
  auto* bar = new QHBoxLayout;
  auto* label = new QLabel(tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "Step of")));
  runs_ = new QComboBox;
  runs_->setAccessibleName(tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "Run whose step the links show")));
  runs_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  label->setBuddy(runs_);
  limit_ = new QLabel;
  limit_->setWordWrap(true);
  bar->addWidget(label);
  bar->addWidget(runs_);
  bar->addSpacing(12);
  bar->addWidget(limit_, 1);
  column->addLayout(bar);
  topology_ = new TopologyWidget;
  page_->setAccessibleName(title());
  topology_->setAccessibleName(title());
  column->addWidget(topology_, 1);
  auto* below = new QHBoxLayout;
  details_ = make_details(tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "The selected link")));
  below->addWidget(details_, 1);
  find_ = new QToolButton;
  find_->setText(tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "In the timeline")));
  find_->setToolTip(
      tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "The spans that cross the selected link (Enter, double click)")));
  find_->setAccessibleName(find_->toolTip());
  below->addWidget(find_);
  column->addLayout(below);
  QObject::connect(find_, &QToolButton::clicked, page_, [this] { ask_for_link(); });
  QObject::connect(topology_, &TopologyWidget::activated, page_, [this] { ask_for_link(); });
  QObject::connect(topology_, &TopologyWidget::selection_changed, page_, [this] { refresh_details(); });
  QObject::connect(runs_, &QComboBox::currentIndexChanged, page_, [this] { draw(); });
  refresh_details();
}

TopologyView::~TopologyView() {
  if (!page_) return;
  QObject::disconnect(topology_, nullptr, page_, nullptr);
  QObject::disconnect(find_, nullptr, page_, nullptr);
  QObject::disconnect(runs_, nullptr, page_, nullptr);
  if (page_->parent() == nullptr) delete page_;
}

QString TopologyView::title() const {
  return tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "Topology"));
}

void TopologyView::show_result(const Shown& shown) {
  shown_ = shown;
  if (!page_) return;
  fill_runs();
  draw();
}

// The choice stays as long as there is a run of its name, else the last run, of the most GPUs, is shown.
void TopologyView::fill_runs() {
  QStringList names;
  if (shown_.result)
    for (const Run* run : runs_of(*shown_.result)) names << run_name(*run, devices_of(shown_));
  QStringList now;
  for (int i = 0; i < runs_->count(); ++i) now << runs_->itemText(i);
  if (names == now) return;
  const QString before = runs_->currentText();
  const QSignalBlocker quiet(runs_);
  runs_->clear();
  runs_->addItems(names);
  runs_->setCurrentIndex(names.contains(before) && before != names.value(0) ? static_cast<int>(names.indexOf(before))
                                                                            : runs_->count() - 1);
}

const Run* TopologyView::chosen() const {
  if (!page_ || !shown_.result) return nullptr;
  const std::vector<const Run*> runs = runs_of(*shown_.result);
  const int index = runs_->currentIndex();
  return index >= 0 && index < static_cast<int>(runs.size()) ? runs[static_cast<std::size_t>(index)] : nullptr;
}

void TopologyView::draw() {
  if (!page_) return;
  const Run* run = chosen();
  // While another machine is being predicted the old result is stale, and may have more GPUs than this one holds.
  const bool fits = run != nullptr && shown_.topology && !shown_.stale &&
                    (!shown_.topology->most_gpus() || run->gpus <= *shown_.topology->most_gpus());
  if (fits || !shown_.result)
    topology_->show_drawing(fits ? machine_drawing(*shown_.topology, run->gpus, run) : MachineDrawing{},
                            fits ? run->step_time_s : 0, false);
  limit_->setText(limit_text());
  topology_->setAccessibleDescription(description());
}

QString TopologyView::limit_name(const RingLimit& limit) const {
  for (const MachineLink& link : topology_->drawing().links)
    if (link.load.slowest && link.id.find(".interconnect") != std::string::npos)
      return tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "the link between the CPUs"));
  return class_name(limit.link_class);
}

QString TopologyView::limit_text() const {
  const Run* run = chosen();
  if (run == nullptr) return {};
  const RingLimit limit = ring_limit(*run);
  if (limit.link_class.empty())
    return run->gpus == 1 ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "%1 alone has nothing to reduce."))
                                .arg(device_count(1, devices_of(shown_)))
                          : tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "No collective crosses a link."));
  const QString what = limit_name(limit), busy = to_qt(format_percent(limit.busy));
  const QString rate = to_qt(format_rate(limit.rate)), step = to_qt(format_time(run->step_time_s));
  const QString whole = to_qt(format_rate(whole_rate(*run)));
  if (whole_rate(*run) <= limit.rate || whole == rate)
    return tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology",
                                "Collectives are limited by %1: %2, busy for %3 of a step of %4."))
        .arg(what, rate, busy, step);
  // Gloo's flows on one machine are limited by the cores that copy and add, not by what memory can do.
  if (devices_of(shown_) == Devices::Cores && limit.link_class == "host")
    return tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology",
                                "Collectives get %2 of %1, which can do %5: Gloo's copying and adding on the cores "
                                "limits them. Busy for %3 of a step of %4."))
        .arg(what, rate, busy, step, whole);
  return tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology",
                              "Collectives are limited by %1: %2 of %5, busy for %3 of a step of %4."))
      .arg(what, rate, busy, step, whole);
}

// Several NICs together where the ring uses several.
double TopologyView::whole_rate(const Run& run) const {
  for (const MachineLink& link : topology_->drawing().links)
    if (link.load.slowest && link.id.find(".interconnect") != std::string::npos) return link.rate;
  if (!shown_.topology || topology_->drawing().empty()) return 0;
  const Ring ring = ring_of(*shown_.topology, run.gpus);
  for (const Link& link : ring.links)
    if (link.link_class == ring.slowest && link.share > 0) return link.rate / link.share;
  return 0;
}

QString TopologyView::details() const {
  return page_ ? topology_->text_of(topology_->selected(), QStringLiteral("  ·  ")) : QString();
}

void TopologyView::refresh_details() {
  const QString words = details();
  show_details(*details_, words,
               tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology",
                                    "Click a link, or go from link to link by arrow keys, for its rate, the "
                                    "bytes of a step and how much of the link they use.")));
  const int selected = topology_->selected();
  find_->setEnabled(selected >= 0 && topology_->drawing().links[static_cast<std::size_t>(selected)].load.bytes > 0);
  if (!words.isEmpty()) topology_->setAccessibleDescription(words);
}

void TopologyView::ask_for_link() const {
  const Run* run = chosen();
  const int selected = topology_->selected();
  if (run == nullptr || selected < 0 || !focus_asked) return;
  const LinkLoad& load = topology_->drawing().links[static_cast<std::size_t>(selected)].load;
  if (load.bytes > 0) focus_asked({run->strategy, run->gpus, std::nullopt, load.collectives, load.copies});
}

DataTable TopologyView::table() const {
  DataTable table;
  table.header = {tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "link")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "what")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "rate (GB/s)")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "bytes of a step")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "in use (%)")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "busy (%)")),
                  tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "limits the all-reduce"))};
  if (!page_) return table;
  std::set<std::string> told;
  for (const MachineLink& link : topology_->drawing().links) {
    if (link.id.empty() || !told.insert(link.id).second) continue;
    table.rows.push_back({to_qt(link.id), link.name, to_qt(format_column(link.rate / 1e9, 4)),
                          QString::number(link.load.bytes), to_qt(format_column(topology_->use_of(link) * 100, 3)),
                          to_qt(format_column(link.load.busy * 100, 3)),
                          link.load.slowest ? tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "yes"))
                                            : tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "no"))});
  }
  return table;
}

QString TopologyView::description() const {
  if (!page_ || topology_->drawing().empty()) return {};
  QStringList nodes;
  for (const NodeFrame& frame : topology_->drawing().frames) nodes << frame.title;
  return QStringLiteral("%1. %2").arg(nodes.join(QStringLiteral("; ")), limit_text());
}

void TopologyView::paint(QPainter& painter, const QRectF& target) {
  painter.fillRect(target, theme().surface);
  if (!page_) return;
  const Run* run = chosen();
  const QString heading = run == nullptr ? title()
                                         : tr(QT_TRANSLATE_NOOP("lockstep::gui::Topology", "Topology, step of %1"))
                                               .arg(run_name(*run, devices_of(shown_)));
  const double base = draw_heading(painter, target, heading);
  painter.setFont(QApplication::font());
  painter.setPen(theme().muted);
  const QRectF limit(target.left() + 12, base + 6, target.width() - 24, 2 * QFontMetricsF(painter.font()).height());
  painter.drawText(limit, Qt::AlignLeft | Qt::TextWordWrap, limit_text());
  topology_->paint_into(painter, target.adjusted(0, limit.bottom() - target.top(), 0, 0));
}

void TopologyView::theme_changed() {
  if (!page_) return;
  refresh_details();
  topology_->update();
}

}  // namespace lockstep::gui
