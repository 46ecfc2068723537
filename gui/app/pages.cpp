#include "gui/app/pages.h"

#include <QAbstractItemView>
#include <QButtonGroup>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QTableWidget>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/app/theme.h"
#include "gui/charts/chart_panel.h"

namespace lockstep::gui {

ViewFrame::ViewFrame(const std::vector<View*>& views, QWidget* parent) : QFrame(parent), views_(views) {
  setObjectName(QStringLiteral("card"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(10, 10, 10, 10);
  column->setSpacing(4);
  auto* head = new QHBoxLayout;
  head->setSpacing(0);
  segments_ = new QButtonGroup(this);
  stack_ = new QStackedWidget;
  if (views_.size() == 1) {
    auto* title = new QLabel(views_.front()->title());
    QFont bold = title->font();
    bold.setBold(true);
    bold.setPointSizeF(bold.pointSizeF() * 1.1);
    title->setFont(bold);
    title->setContentsMargins(14, 4, 0, 4);
    head->addWidget(title);
  }
  for (std::size_t i = 0; i < views_.size(); ++i) {
    stack_->addWidget(views_[i]->widget());
    if (auto* panel = qobject_cast<ChartPanel*>(views_[i]->widget())) panel->show_title(false);
    if (views_.size() < 2) continue;
    auto* button = new QPushButton(views_[i]->title());
    button->setObjectName(QStringLiteral("segment"));
    button->setCheckable(true);
    button->setChecked(i == 0);
    segments_->addButton(button, static_cast<int>(i));
    head->addWidget(button);
  }
  connect(segments_, &QButtonGroup::idClicked, this, [this](int index) {
    by_hand_ = true;
    choose(index);
  });
  head->addStretch(1);
  table_button_ = new QToolButton;
  table_button_->setIcon(icon(QStringLiteral("table")));
  table_button_->setCheckable(true);
  table_button_->setToolTip(tr("The numbers as a table"));
  table_button_->setAccessibleName(tr("%1 as a table").arg(views_.front()->title()));
  connect(table_button_, &QToolButton::toggled, this, &ViewFrame::show_table);
  head->addWidget(table_button_);
  column->addLayout(head);
  table_ = new QTableWidget;
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->verticalHeader()->hide();
  table_->setAlternatingRowColors(true);
  table_->setAccessibleName(tr("%1 as a table").arg(views_.front()->title()));
  stack_->addWidget(table_);
  column->addWidget(stack_, 1);
}

void ViewFrame::choose(int index) {
  index_ = index;
  if (auto* button = segments_->button(index)) button->setChecked(true);
  show_table(table_button_->isChecked());
}

void ViewFrame::show_table(bool on) {
  table_button_->setChecked(on);
  table_button_->setIcon(icon(QStringLiteral("table")));
  if (on) fill(*table_, current()->table());
  table_->setAccessibleName(tr("%1 as a table").arg(current()->title()));
  stack_->setCurrentIndex(on ? stack_->count() - 1 : index_);
}

// Opened with nothing in it, it shows the first of its views that has something, unless the user chose another.
void ViewFrame::showEvent(QShowEvent* event) {
  QFrame::showEvent(event);
  if (by_hand_ || views_.size() < 2 || !current()->table().rows.empty()) return;
  for (std::size_t i = 0; i < views_.size(); ++i)
    if (!views_[i]->table().rows.empty()) return choose(static_cast<int>(i));
}

void ViewFrame::refresh() {
  if (table_button_->isChecked()) fill(*table_, current()->table());
}

TextPage::TextPage(ScenarioDocument& document, QWidget* parent) : QFrame(parent), document_(document) {
  setObjectName(QStringLiteral("card"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(14, 12, 14, 12);
  auto* lead =
      new QLabel(tr("The file that the command line takes. Controls change it in place and keep its comments; "
                    "what you type here is predicted as soon as it can be read."));
  lead->setObjectName(QStringLiteral("muted"));
  lead->setWordWrap(true);
  column->addWidget(lead);
  edit_ = new QPlainTextEdit;
  edit_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  edit_->setAccessibleName(tr("Scenario file"));
  edit_->setTabChangesFocus(true);
  edit_->setUndoRedoEnabled(false);  // the window's Undo undoes it
  edit_->setLineWrapMode(QPlainTextEdit::NoWrap);
  column->addWidget(edit_, 1);
  wrong_ = new QLabel;
  wrong_->setObjectName(QStringLiteral("wrong"));
  wrong_->setWordWrap(true);
  wrong_->hide();
  column->addWidget(wrong_);
  settle_ = new QTimer(this);
  settle_->setSingleShot(true);
  settle_->setInterval(400);
  connect(edit_, &QPlainTextEdit::textChanged, this, [this] {
    typed_ = true;
    settle_->start();
  });
  connect(settle_, &QTimer::timeout, this, &TextPage::take);
  connect(&document_, &ScenarioDocument::changed, this, [this] {
    if (isVisible()) refresh();
  });
}

void TextPage::showEvent(QShowEvent* event) {
  QFrame::showEvent(event);
  refresh();
}

void TextPage::hideEvent(QHideEvent* event) {
  take();
  QFrame::hideEvent(event);
}

void TextPage::refresh() {
  const QString text = QString::fromStdString(document_.text());
  if (edit_->toPlainText() != text) {
    const QSignalBlocker quiet(edit_);
    typed_ = false;
    edit_->setPlainText(text);
  }
  QStringList lines;
  for (const Error& error : document_.errors()) lines << QString::fromStdString(to_text(error));
  wrong_->setText(lines.join('\n'));
  wrong_->setVisible(!lines.isEmpty());
}

void TextPage::take() {
  if (!typed_) return;
  typed_ = false;
  document_.replace_text(edit_->toPlainText().toStdString());
}

}  // namespace lockstep::gui
