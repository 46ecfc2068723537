#include "gui/app/command_palette.h"

#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QVBoxLayout>

namespace lockstep::gui {
namespace {

QString plain_text(const QAction& action) {
  QString text = action.text();
  text.remove('&');
  const QString keys = action.shortcut().toString(QKeySequence::NativeText);
  return keys.isEmpty() ? text : QStringLiteral("%1   %2").arg(text, keys);
}

}  // namespace

CommandPalette::CommandPalette(const QList<QAction*>& actions, QWidget* parent) : QDialog(parent) {
  for (QAction* one : actions)
    if (one->isEnabled() && !one->text().isEmpty() && !one->isSeparator() && one->menu() == nullptr) actions_ << one;
  setWindowTitle(tr("Find an action"));
  resize(460, 380);
  auto* column = new QVBoxLayout(this);
  words_ = new QLineEdit;
  words_->setPlaceholderText(tr("A part of its name"));
  words_->setAccessibleName(tr("Find an action by its name"));
  words_->installEventFilter(this);
  list_ = new QListWidget;
  list_->setAccessibleName(tr("Actions"));
  column->addWidget(words_);
  column->addWidget(list_);
  connect(words_, &QLineEdit::textChanged, this, &CommandPalette::filter);
  connect(words_, &QLineEdit::returnPressed, this, &CommandPalette::choose);
  connect(list_, &QListWidget::itemActivated, this, &CommandPalette::choose);
  filter({});
}

void CommandPalette::filter(const QString& words) {
  list_->clear();
  for (int i = 0; i < actions_.size(); ++i) {
    const QString text = plain_text(*actions_[i]) + ' ' + actions_[i]->toolTip();
    if (!text.contains(words.trimmed(), Qt::CaseInsensitive)) continue;
    auto* item = new QListWidgetItem(actions_[i]->icon(), plain_text(*actions_[i]), list_);
    item->setData(Qt::UserRole, i);
    item->setToolTip(actions_[i]->toolTip());
  }
  list_->setCurrentRow(0);
}

void CommandPalette::choose() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr) return;
  chosen_ = actions_[item->data(Qt::UserRole).toInt()];
  accept();
}

// Up and Down move in the list while words are typed.
bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (watched == words_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Up || key == Qt::Key_Down) {
      QApplication::sendEvent(list_, event);
      return true;
    }
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace lockstep::gui
