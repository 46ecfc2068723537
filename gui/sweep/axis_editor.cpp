#include "gui/sweep/axis_editor.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QCompleter>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QStringListModel>
#include <QStyle>
#include <QToolButton>

#include "gui/app/field_control.h"
#include "gui/app/glossary.h"
#include "gui/app/theme.h"
#include "gui/sweep/word_label.h"
#include "scenarios/fields.h"

namespace lockstep::gui {
namespace {

// What typed words are looked for in.
QString item_text(const FieldInfo& field) {
  const QString label = label_of(field.key), key = QString::fromStdString(field.key);
  return label.compare(key, Qt::CaseInsensitive) == 0 ? label : QStringLiteral("%1 (%2)").arg(label, key);
}

}  // namespace

AxisEditor::AxisEditor(const QString& name, QWidget* parent) : QWidget(parent) {
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(2);
  auto* title = new QLabel(name);
  title->setMinimumWidth(title->fontMetrics().horizontalAdvance(QStringLiteral("MMMMMM")));
  keys_ = new QComboBox;
  keys_->setEditable(true);
  keys_->setInsertPolicy(QComboBox::NoInsert);
  words_ = new QStringListModel(this);
  auto* completer = new QCompleter(words_, this);
  completer->setCompletionMode(QCompleter::PopupCompletion);
  completer->setFilterMode(Qt::MatchContains);
  completer->setCaseSensitivity(Qt::CaseInsensitive);
  keys_->setCompleter(completer);
  keys_->setAccessibleName(tr("%1: which setting").arg(name));
  keys_->setToolTip(tr("Type any word of a setting"));
  keys_->setMinimumContentsLength(18);
  keys_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  keys_->setMaxVisibleItems(18);
  keys_->installEventFilter(this);
  title->setBuddy(keys_);
  values_ = new QLineEdit;
  values_->setAccessibleName(tr("%1: values").arg(name));
  values_->installEventFilter(this);
  reset_ = new QToolButton;
  reset_->setObjectName(QStringLiteral("reset"));
  reset_->setIcon(icon(QStringLiteral("reset")));
  reset_->setToolTip(tr("Values around the present one"));
  reset_->setAccessibleName(tr("%1: values around the present one").arg(name));
  wrong_ = new WordLabel;
  wrong_->setObjectName(QStringLiteral("wrong"));
  wrong_->hide();
  grid->addWidget(title, 0, 0);
  grid->addWidget(keys_, 0, 1);
  grid->addWidget(values_, 0, 2);
  grid->addWidget(reset_, 0, 3);
  grid->addWidget(wrong_, 1, 1, 1, 3);
  grid->setColumnStretch(2, 1);
  connect(keys_, &QComboBox::activated, this, &AxisEditor::take_key);
  connect(completer, qOverload<const QString&>(&QCompleter::activated), this, &AxisEditor::take_key,
          Qt::QueuedConnection);
  connect(keys_->lineEdit(), &QLineEdit::editingFinished, this, &AxisEditor::take_key);
  connect(values_, &QLineEdit::editingFinished, this, [this] {
    const std::string text = values_->text().trimmed().toStdString();
    if (text == text_of_values(axis_.values)) return show_errors({});
    emit values_edited(text);
  });
  connect(reset_, &QToolButton::clicked, this, &AxisEditor::reset_asked);
}

void AxisEditor::fill_keys(const AxisKeys& keys) {
  if (keys.fields == known_) return;
  known_ = keys.fields;
  const QSignalBlocker quiet(keys_);
  keys_->clear();
  QStringList words;
  for (const FieldInfo* field : known_) words << item_text(*field);
  words_->setStringList(words);
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (i == keys.ready) keys_->insertSeparator(keys_->count());
    keys_->addItem(label_of(known_[i]->key), QString::fromStdString(known_[i]->key));
    const QString tip =
        QString::fromStdString(known_[i]->doc) + '\n' + QString::fromStdString(allowed_text(*known_[i]));
    keys_->setItemData(keys_->count() - 1, tip, Qt::ToolTipRole);
  }
}

void AxisEditor::show_axis(const PlanAxis& axis, const AxisKeys& keys) {
  fill_keys(keys);
  const bool same = axis.key == axis_.key && axis.values == axis_.values;
  axis_ = axis;
  const int at = keys_->findData(QString::fromStdString(axis.key));
  const QSignalBlocker quiet(keys_);
  if (!keys_->lineEdit()->hasFocus() || keys_->currentIndex() != at) {
    keys_->setCurrentIndex(at);
    if (at < 0) keys_->setEditText(QString::fromStdString(axis.key));
    keys_->lineEdit()->setCursorPosition(0);
  }
  const FieldInfo* field = scenario_fields().info().find(axis.key);
  if (field != nullptr) {
    const QString allowed = QString::fromStdString(allowed_text(*field));
    values_->setToolTip(QStringLiteral("<p><b>%1</b></p><p>%2</p><p>%3</p>%4")
                            .arg(QString::fromStdString(axis.key).toHtmlEscaped(),
                                 QString::fromStdString(field->doc).toHtmlEscaped(), allowed.toHtmlEscaped(),
                                 term_for_key(axis.key)));
    values_->setAccessibleDescription(allowed);
  }
  if (refused_ && same) return;
  values_->setText(QString::fromStdString(text_of_values(axis.values)));
  values_->setCursorPosition(0);
  show_errors({});
}

void AxisEditor::take_key() {
  const QString text = keys_->currentText().trimmed();
  QString key;
  for (const FieldInfo* field : known_) {
    const QString own = QString::fromStdString(field->key);
    const QStringList names = {label_of(field->key), own, item_text(*field)};
    if (key.isEmpty() && names.contains(text, Qt::CaseInsensitive)) key = own;
  }
  if (key.isEmpty()) {  // no setting: back to the one that is swept
    keys_->setCurrentIndex(keys_->findData(QString::fromStdString(axis_.key)));
    return;
  }
  if (key.toStdString() == axis_.key) return keys_->setEditText(label_of(axis_.key));
  emit key_chosen(key.toStdString());
}

void AxisEditor::show_errors(const Errors& errors) {
  refused_ = !errors.empty();
  wrong_->setVisible(refused_);
  if (values_->property("wrong").toBool() != refused_) {
    values_->setProperty("wrong", refused_);
    values_->style()->unpolish(values_);
    values_->style()->polish(values_);
  }
  if (errors.empty()) return;
  const Error& error = errors.front();
  QString text = QString::fromStdString(error.message);
  if (!error.found.empty() && error.message.find(error.found) == std::string::npos)
    text += tr("; found %1").arg(QString::fromStdString(error.found));
  if (!error.allowed.empty()) text += tr("; allowed: %1").arg(QString::fromStdString(error.allowed));
  if (!error.hint.empty()) text += QStringLiteral("; ") + QString::fromStdString(error.hint);
  wrong_->say(text);
  wrong_->setAccessibleName(text);
}

bool AxisEditor::wrong() const {
  return refused_;
}

bool AxisEditor::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Wheel && watched == keys_) {
    event->ignore();
    return true;
  }
  if (event->type() == QEvent::KeyPress && watched == values_ &&
      static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    values_->setText(QString::fromStdString(text_of_values(axis_.values)));
    show_errors({});
    return true;
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace lockstep::gui
