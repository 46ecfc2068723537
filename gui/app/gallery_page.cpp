#include "gui/app/gallery_page.h"

#include <QEvent>
#include <QFileInfo>
#include <QLabel>
#include <QPainter>
#include <QPainterPath>
#include <QPushButton>
#include <QScrollArea>
#include <QTimer>
#include <QVBoxLayout>
#include <cmath>

#include "gui/app/flow_layout.h"
#include "gui/app/theme.h"
#include "gui/charts/axis.h"
#include "gui/charts/scaling_view.h"

namespace lockstep::gui {
namespace {

constexpr qreal kPad = 16;
constexpr qreal kPicture = 78;

// "DP 4.18× · DDP 7.60× on 8 GPUs"
QString short_answer(const Result& result) {
  int most = 0;
  for (const Run* run : runs_of(result)) most = std::max(most, run->gpus);
  QStringList parts;
  for (const Run* run : runs_of(result))
    if (run->gpus == most && (run->strategy != Strategy::Single || most == 1))
      parts << QStringLiteral("%1 %2×").arg(strategy_name(run->strategy), three_digits(run->speedup));
  return CardButton::tr("%1 on %2 GPUs").arg(parts.join(QStringLiteral("  ·  "))).arg(most);
}

}  // namespace

CardButton::CardButton(const GalleryCard& card, QWidget* parent) : QAbstractButton(parent), card_(card) {
  setAccessibleName(card.question);
  setAccessibleDescription(tr("%1. Try: %2 Notice: %3").arg(card.setting, card.to_try, card.to_notice));
  setFocusPolicy(Qt::StrongFocus);
  setCursor(Qt::PointingHandCursor);
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

void CardButton::show_answer(std::shared_ptr<const Result> answer) {
  answer_ = std::move(answer);
  update();
}

std::vector<CardButton::Piece> CardButton::pieces() const {
  QFont bold = font(), small = font();
  bold.setBold(true);
  bold.setPointSizeF(bold.pointSizeF() * 1.08);
  small.setPointSizeF(small.pointSizeF() * 0.94);
  std::vector<Piece> out = {{card_.question.isEmpty() ? card_.name : card_.question, bold, theme().text, 0},
                            {card_.setting, small, theme().muted, 4}};
  if (!card_.to_try.isEmpty()) out.push_back({tr("Try: %1").arg(card_.to_try), small, theme().text, 8});
  if (!card_.to_notice.isEmpty()) out.push_back({tr("Notice: %1").arg(card_.to_notice), small, theme().muted, 4});
  return out;
}

int CardButton::heightForWidth(int width) const {
  qreal height = 2 * kPad + kPicture + 10;
  for (const Piece& piece : pieces())
    height += piece.space_before + QFontMetricsF(piece.font)
                                       .boundingRect(QRectF(0, 0, width - 2 * kPad, 4000), Qt::TextWordWrap, piece.text)
                                       .height();
  return static_cast<int>(std::ceil(height));
}

void CardButton::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF frame = QRectF(rect()).adjusted(1, 1, -1, -1);
  painter.setPen(QPen(hasFocus() || underMouse() ? theme().accent : theme().border, hasFocus() ? 2 : 1));
  painter.setBrush(isDown() ? theme().raised : theme().surface);
  painter.drawRoundedRect(frame, 10, 10);
  qreal y = kPad;
  draw_lines(painter, QRectF(kPad, y, width() - 2 * kPad, kPicture));
  y += kPicture + 10;
  for (const Piece& piece : pieces()) {
    y += piece.space_before;
    painter.setFont(piece.font);
    painter.setPen(piece.colour);
    QRectF used;
    painter.drawText(QRectF(kPad, y, width() - 2 * kPad, 4000), Qt::TextWordWrap, piece.text, &used);
    y = used.bottom();
  }
}

// The efficiency of the stored answer in small: ideal on top, lines below it.
void CardButton::draw_lines(QPainter& painter, const QRectF& area) const {
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme().raised);
  painter.drawRoundedRect(area, 6, 6);
  if (!answer_) return;
  QFont small = font();
  small.setPointSizeF(small.pointSizeF() * 0.94);
  small.setBold(true);
  painter.setFont(small);
  painter.setPen(theme().text);
  painter.drawText(area.adjusted(10, 6, -10, -4), Qt::AlignLeft | Qt::AlignBottom, short_answer(*answer_));
  const QRectF plot = area.adjusted(10, 8, -10, -QFontMetricsF(small).height() - 10);
  double most = 0;
  Shown shown;
  shown.result = answer_;
  const auto lines = scaling_lines(shown, Metric::Efficiency);
  for (const ScalingLine& line : lines)
    for (const ScalingPoint& point : line.points) most = std::max(most, std::log2(point.gpus));
  const auto place = [&](const ScalingPoint& point) {
    return QPointF(plot.left() + plot.width() * (most > 0 ? std::log2(point.gpus) / most : 0),
                   plot.bottom() - plot.height() * std::min(1.1, point.value));
  };
  for (const ScalingLine& line : lines) {
    QPolygonF path;
    for (const ScalingPoint& point : line.points) path << place(point);
    const bool ideal = line.kind == ScalingLine::Kind::Ideal;
    painter.setPen(QPen(ideal ? theme().border : theme().strategy(line.strategy), ideal ? 1 : 2.2,
                        ideal ? Qt::DashLine : Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.setBrush(Qt::NoBrush);
    if (path.size() > 1) painter.drawPolyline(path);
    if (!ideal) painter.setBrush(theme().strategy(line.strategy));
    if (!ideal && !path.isEmpty()) painter.drawEllipse(path.last(), 2.4, 2.4);
  }
}

GalleryPage::GalleryPage(QWidget* parent) : QWidget(parent), cards_(gallery_cards()) {
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  outer->addWidget(scroll);
  auto* page = new QWidget;
  page->setObjectName(QStringLiteral("page"));
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(28, 22, 28, 28);
  column->setSpacing(14);
  auto* title = new QLabel(tr("What would you like to know?"));
  QFont big = title->font();
  big.setPointSizeF(big.pointSizeF() * 1.7);
  big.setBold(true);
  title->setFont(big);
  column->addWidget(title);
  auto* lead =
      new QLabel(tr("Each question is answered already. Open one, move a control, and see what changes. "
                    "Scenario files and results can also be dropped here."));
  lead->setObjectName(QStringLiteral("muted"));
  lead->setWordWrap(true);
  column->addWidget(lead);
  recent_ = new QWidget;
  recent_column_ = new QVBoxLayout(recent_);
  recent_column_->setContentsMargins(0, 0, 0, 0);
  recent_column_->setSpacing(2);
  recent_->hide();
  column->addWidget(recent_);
  auto* grid = new QWidget;
  auto* flow = new FlowLayout(grid, 14, 300);
  for (const GalleryCard& card : cards_) {
    auto* button = new CardButton(card);
    connect(button, &CardButton::clicked, this, [this, card] { emit chosen(card); });
    flow->addWidget(button);
    buttons_.push_back(button);
  }
  column->addWidget(grid);
  column->addStretch(1);
  scroll->setWidget(page);
  QTimer::singleShot(0, this, &GalleryPage::load_next_answer);
}

// One for each turn of the event loop, after the window is there.
void GalleryPage::load_next_answer() {
  if (next_answer_ >= cards_.size()) return;
  buttons_[next_answer_]->show_answer(stored_answer(cards_[next_answer_]));
  ++next_answer_;
  QTimer::singleShot(0, this, &GalleryPage::load_next_answer);
}

void GalleryPage::show_recent(const QStringList& files) {
  while (QLayoutItem* item = recent_column_->takeAt(0)) {
    if (item->widget() != nullptr) item->widget()->deleteLater();
    delete item;
  }
  recent_->setVisible(!files.isEmpty());
  if (files.isEmpty()) return;
  auto* title = new QLabel(tr("Recent files"));
  title->setObjectName(QStringLiteral("muted"));
  recent_column_->addWidget(title);
  for (const QString& file : files.mid(0, 5)) {
    auto* link = new QPushButton(QFileInfo(file).fileName());
    link->setObjectName(QStringLiteral("link"));
    link->setToolTip(file);
    link->setAccessibleDescription(file);
    connect(link, &QPushButton::clicked, this, [this, file] { emit file_chosen(file); });
    recent_column_->addWidget(link, 0, Qt::AlignLeft);
  }
}

}  // namespace lockstep::gui
