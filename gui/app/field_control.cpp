#include "gui/app/field_control.h"

#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QSlider>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/app/field_labels.h"
#include "gui/app/glossary.h"
#include "gui/app/theme.h"
#include "simulator/base/document.h"

namespace lockstep::gui {

QString plain_yaml(const std::string& yaml) {
  const auto document = parse_document("v: " + yaml, "value");
  const Value* value = document ? document->root.find("v") : nullptr;
  const bool quoted = value != nullptr && value->kind == Value::Kind::Scalar;
  return QString::fromStdString(quoted ? value->text : yaml);
}

FieldControl::FieldControl(const FieldInfo& field, QWidget* parent) : QWidget(parent), field_(field) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(3);
  make_title();
  auto* head = new QHBoxLayout;
  head->setSpacing(4);
  head->addWidget(title_, 1);
  head->addWidget(reset_);
  column->addLayout(head);
  editor_ = make_editor();
  column->addWidget(editor_);
  title_->setBuddy(editor_);
  const QString description = tr("%1. Allowed: %2").arg(doc_of(field_), allowed_of(field_));
  for (QWidget* one : {static_cast<QWidget*>(line_), static_cast<QWidget*>(combo_), static_cast<QWidget*>(check_),
                       static_cast<QWidget*>(slider_), static_cast<QWidget*>(dp_), static_cast<QWidget*>(ddp_)})
    if (one != nullptr) one->setAccessibleDescription(description);
  wrong_ = new QLabel;
  wrong_->setObjectName(QStringLiteral("wrong"));
  wrong_->setWordWrap(true);
  wrong_->hide();
  column->addWidget(wrong_);
  if (combo_ != nullptr) combo_->setCurrentIndex(-1);
}

void FieldControl::make_title() {
  title_ = new QLabel(label_of(field_.key));
  const QString doc = QStringLiteral("<p><b>%1</b></p><p>%2</p><p>%3</p><p><code>%4</code></p>")
                          .arg(title_->text().toHtmlEscaped(), doc_of(field_).toHtmlEscaped(),
                               tr("Allowed: %1").arg(allowed_of(field_)).toHtmlEscaped(),
                               QString::fromStdString(field_.key).toHtmlEscaped());
  title_->setToolTip(doc + term_for_key(field_.key));
  setToolTip(title_->toolTip());
  reset_ = new QToolButton;
  reset_->setObjectName(QStringLiteral("reset"));
  reset_->setIcon(icon(QStringLiteral("reset")));
  reset_->setIconSize({14, 14});
  reset_->setFixedSize(22, 20);
  reset_->setToolTip(tr("Back to the default"));
  reset_->setAccessibleName(tr("%1: back to the default").arg(title_->text()));
  reset_->hide();
  connect(reset_, &QToolButton::clicked, this, [this] { emit_edited(field_.unset_word); });
}

void FieldControl::slider_moved(int position) {
  if (showing_) return;
  if (field_.key == "gpus") {
    const auto now = drag_ != 0 ? gpus_at_press_ : list_of(yaml_.value_or(""));
    emit_edited(list_yaml(gpus_up_to(now, 1 << position)), drag_);
  } else if (scale_) {
    emit_edited(scale_->yaml(scale_->value(position)), drag_);
  }
}

std::string FieldControl::yaml_of_text() const {
  const std::string text = line_->text().trimmed().toStdString();
  if (field_.key == "gpus") {
    const auto list = list_of(text);
    return list.empty() ? text : list_yaml(list);
  }
  if (field_.type == FieldType::Version) return text.empty() ? text : '"' + text + '"';
  if (field_.type == FieldType::Text && !field_.list) return yaml_scalar(text);
  if (field_.list && !text.empty() && text.front() != '[') return '[' + text + ']';
  return text;
}

void FieldControl::typed() {
  if (showing_) return;
  const QString text = line_->text().trimmed();
  const bool as_shown = yaml_ ? text == plain_yaml(*yaml_) : text.isEmpty();
  if (as_shown) return show_refused({});
  if (text.isEmpty()) return emit_edited(field_.unset_word);
  emit_edited(yaml_of_text());
}

void FieldControl::step(int by) {
  const auto now = number_of(line_->text().trimmed().toStdString(), scale_->unit);
  const double from = now.value_or(scale_->low);
  emit_edited(scale_->yaml(scale_->stepped(from, by)));
}

void FieldControl::emit_edited(const std::string& yaml, int drag) {
  emit edited(field_.key, yaml, drag);
}

bool FieldControl::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Wheel && (watched == combo_ || watched == slider_)) {
    event->ignore();
    return true;
  }
  if (event->type() == QEvent::KeyPress && watched == line_) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (scale_ && (key == Qt::Key_Up || key == Qt::Key_Down)) {
      step(key == Qt::Key_Up ? 1 : -1);
      return true;
    }
    if (key == Qt::Key_Escape) {
      refused_ = false;
      show_value(yaml_, is_default_, effective_);
      show_errors({});
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

// What holds where nothing is set, in as many digits as a slider has: 13GB/s, not 13075692307.6923B/s.
QString FieldControl::for_people(const std::string& effective) const {
  const auto value = scale_ ? number_of(effective, scale_->unit) : std::nullopt;
  if (!value || *value == 0) return QString::fromStdString(effective);
  const double last = std::pow(10, std::floor(std::log10(std::abs(*value))) - 2);  // of three digits
  return QString::fromStdString(scale_->yaml(std::round(*value / last) * last));
}

void FieldControl::show_value(const std::optional<std::string>& yaml, bool is_default, const std::string& effective) {
  if (refused_ && yaml == yaml_ && !unread_) return;
  if (unread_) editor_->setToolTip({});
  editor_->setEnabled(true);
  refused_ = unread_ = false;
  showing_ = true;
  yaml_ = yaml;
  is_default_ = is_default;
  effective_ = effective;
  reset_->setVisible(!is_default && !field_.unset_word.empty() && !field_.required);
  const std::string value = yaml.value_or("");
  if (check_ != nullptr) show_check(*check_, value);
  if (dp_ != nullptr) {
    const auto document = parse_document("v: " + value, "value");
    const Value* found = document ? document->root.find("v") : nullptr;
    const auto names = [&](const char* name) {
      if (found == nullptr) return false;
      return found->text == name || std::any_of(found->items.begin(), found->items.end(),
                                                [&](const Value& item) { return item.text == name; });
    };
    dp_->setChecked(names("dp"));
    ddp_->setChecked(names("ddp"));
  }
  if (combo_ != nullptr) {
    if (!combo_->isEditable()) combo_->setPlaceholderText(plain_yaml(value));  // before its index, which it may change
    if (combo_->isEditable())
      combo_->setEditText(plain_yaml(value));
    else
      combo_->setCurrentIndex(combo_->findText(plain_yaml(value)));
  }
  if (line_ != nullptr) {
    QString text = yaml ? plain_yaml(value) : QString();
    if (field_.key == "gpus") text.remove('[').remove(']');
    if (line_->text() != text) line_->setText(text);
    line_->setCursorPosition(0);
    line_->setPlaceholderText(for_people(effective));
  }
  update_slider();
  showing_ = false;
}

void FieldControl::show_written(const std::optional<std::string>& yaml, const QString& locked) {
  if (refused_ && yaml == yaml_) return;
  refused_ = false;
  show_value(yaml, true, {});
  unread_ = true;
  editor_->setEnabled(locked.isEmpty());
  editor_->setToolTip(locked);
}

// Neither ticked nor not where its value is none of the two.
void FieldControl::show_check(QCheckBox& box, const std::string& yaml) {
  const bool known = yaml == "true" || yaml == "false" || yaml.empty();
  box.setTristate(!known);
  box.setCheckState(yaml == "true" ? Qt::Checked : known ? Qt::Unchecked : Qt::PartiallyChecked);
  box.setText(known ? tr("on") : QString::fromStdString(yaml));
}

void FieldControl::update_slider() {
  if (slider_ == nullptr || slider_->isSliderDown()) return;
  if (field_.key == "gpus") {
    const auto list = list_of(yaml_.value_or(""));
    if (!list.empty())
      slider_->setValue(static_cast<int>(std::lround(std::log2(*std::max_element(list.begin(), list.end())))));
    return;
  }
  const Unit unit = field_.type == FieldType::Quantity ? field_.unit : Unit::None;
  auto value = number_of(yaml_.value_or(""), unit);
  const bool set = value.has_value();
  slider_->setEnabled(set || !yaml_ || *yaml_ == field_.unset_word);  // a list of values has no place on it
  if (!value) value = number_of(effective_, unit);
  const auto scale = slider_scale(field_, value);
  if (!scale) return;
  scale_ = scale;
  slider_->setValue(value ? scale_->position(*value) : 0);
  slider_->setToolTip(set || !value ? QString() : tr("not set: %1").arg(for_people(effective_)));
}

bool FieldControl::wrong() const {
  return !wrong_->isHidden();
}

void FieldControl::mark_wrong(bool wrong) {
  for (QWidget* widget : {static_cast<QWidget*>(line_), static_cast<QWidget*>(combo_)})
    if (widget != nullptr && widget->property("wrong").toBool() != wrong) {
      widget->setProperty("wrong", wrong);
      widget->style()->unpolish(widget);  // the style sheet looks at the property again
      widget->style()->polish(widget);
    }
}

void FieldControl::show_errors(const Errors& errors) {
  wrong_->setVisible(!errors.empty());
  mark_wrong(!errors.empty());
  if (errors.empty()) return;
  const Error& error = errors.front();
  QString text = QString::fromStdString(error.message);
  if (!error.allowed.empty()) text += '\n' + tr("Allowed: %1").arg(QString::fromStdString(error.allowed));
  if (!error.hint.empty()) text += '\n' + QString::fromStdString(error.hint);
  wrong_->setText(text);
  wrong_->setAccessibleName(text);
  wrong_->setMinimumHeight(std::max(0, wrong_->heightForWidth(width())));
}

void FieldControl::show_refused(const Errors& errors) {
  refused_ = !errors.empty();
  show_errors(errors);
}

void FieldControl::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (wrong()) wrong_->setMinimumHeight(std::max(0, wrong_->heightForWidth(width())));
}

}  // namespace lockstep::gui
