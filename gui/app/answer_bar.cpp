#include "gui/app/answer_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/app/flow_layout.h"
#include "gui/app/glossary.h"
#include "gui/app/headline.h"
#include "gui/compare/difference.h"
#include "gui/compare/error_rows.h"

namespace lockstep::gui {
namespace {

constexpr std::size_t kMostLevers = 5;

QLabel* text_label(const char* name, qreal scale, bool bold) {
  auto* label = new QLabel;
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  label->setFocusPolicy(Qt::ClickFocus);
  label->setTextFormat(Qt::PlainText);
  if (*name != '\0') label->setObjectName(QString::fromLatin1(name));
  QFont font = label->font();
  font.setPointSizeF(font.pointSizeF() * scale);
  font.setBold(bold);
  label->setFont(font);
  return label;
}

}  // namespace

AnswerBar::AnswerBar(QWidget* parent) : QFrame(parent) {
  setObjectName(QStringLiteral("card"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(18, 14, 18, 14);
  column->setSpacing(6);
  auto* head = new QHBoxLayout;
  question_ = text_label("muted", 1, false);
  state_ = new QLabel;
  state_->setObjectName(QStringLiteral("chip"));
  head->addWidget(question_, 1);
  head->addWidget(state_, 0, Qt::AlignTop | Qt::AlignRight);
  column->addLayout(head);
  main_ = text_label("", 1.3, true);
  main_->setAccessibleName(tr("Answer"));
  warning_ = text_label("doubt", 1.05, true);
  warning_->hide();
  why_ = text_label("", 1.05, false);
  column->addWidget(main_);
  column->addWidget(warning_);
  column->addWidget(why_);
  against_ = text_label("", 1.05, false);
  against_->setTextFormat(Qt::RichText);
  against_->setAccessibleName(tr("Difference from the pinned result"));
  against_->setToolTip(term_text(QStringLiteral("baseline")));
  pinned_ = text_label("muted", 1, false);
  doubt_ = text_label("doubt", 1, false);
  for (QLabel* label : {against_, pinned_, doubt_}) {
    column->addWidget(label);
    label->hide();
  }
  trouble_ = text_label("wrong", 1, false);
  trouble_->hide();
  column->addWidget(trouble_);
  levers_ = new QWidget;
  flow_ = new FlowLayout(levers_, 6);
  flow_->setContentsMargins(0, 4, 0, 0);
  column->addWidget(levers_);
  more_button_ = new QPushButton(tr("More about this answer"));
  more_button_->setObjectName(QStringLiteral("link"));
  more_button_->setCheckable(true);
  more_ = text_label("muted", 1, false);
  more_->hide();
  column->addWidget(more_button_, 0, Qt::AlignLeft);
  column->addWidget(more_);
  connect(more_button_, &QPushButton::toggled, more_, &QLabel::setVisible);
  connect(more_button_, &QPushButton::toggled, this, &AnswerBar::details_shown);
  levers_->hide();
  more_button_->hide();
}

void AnswerBar::show_question(const QString& question) {
  question_->setText(question);
  question_->setVisible(!question.isEmpty());
}

// Sentences whose change is coloured by its size; the sign says the same.
void AnswerBar::show_comparison(const Shown& shown) {
  QStringList sentences, plain;
  for (const PinnedSentence& one : pinned_sentences(shown)) {
    const QString rest = one.unsure ? one.change + one.rest : one.change;
    sentences << QStringLiteral("%1<span style=\"color:%2\"><b>%3</b></span>%4.")
                     .arg(
                         one.text.toHtmlEscaped(),
                         change_colour(one.relative, one.same_work ? Better::Less : Better::Neither, one.unsure).name(),
                         rest.toHtmlEscaped(), one.unsure ? QString() : one.rest.toHtmlEscaped());
    plain << one.plain() + '.';
  }
  if (shown.baseline && sentences.isEmpty())
    sentences << tr("The pinned result has no run in common with this one.").toHtmlEscaped();
  against_->setText(sentences.join(QStringLiteral(" ")));
  against_->setAccessibleDescription(plain.join(' '));
  against_->setVisible(!sentences.isEmpty());
  against_->setEnabled(!shown.stale);
  pinned_->setText(pinned_line(shown));
  pinned_->setVisible(shown.baseline != nullptr);
  const QStringList warnings = mismatch_warnings(shown);
  doubt_->setText(warnings.join('\n'));
  doubt_->setVisible(!warnings.isEmpty());
}

void AnswerBar::show_answer(const Shown& shown) {
  show_comparison(shown);
  if (!shown.result) {
    main_->setText(tr("No prediction yet"));
    why_->clear();
    warning_->hide();
    levers_->hide();
    more_button_->hide();
    more_->hide();
    return;
  }
  const Headline head = headline(*shown.result);
  main_->setText(head.main);
  warning_->setText(head.warning);
  warning_->setVisible(!head.warning.isEmpty());
  why_->setText(head.why.mid(head.warning.size()).trimmed());
  why_->setVisible(!why_->text().isEmpty());
  for (QLabel* label : {main_, warning_, why_}) label->setEnabled(!shown.stale);
  more_->setText(head.more.join('\n'));
  more_button_->setVisible(!head.more.isEmpty());
  more_->setVisible(more_button_->isChecked() && !head.more.isEmpty());
  if (!shown.estimated) show_levers(*shown.result);
  levers_->setEnabled(!shown.stale && !shown.estimated);
}

void AnswerBar::show_levers(const Result& result) {
  flow_->clear();
  const auto& levers = result.answer.levers;
  levers_->setVisible(!levers.empty());
  auto* title = new QLabel(lever_title(result));
  title->setObjectName(QStringLiteral("muted"));
  title->setContentsMargins(0, 6, 0, 6);
  flow_->addWidget(title);
  title->show();
  for (std::size_t i = 0; i < levers.size() && i < kMostLevers; ++i) {
    const QString set = QString::fromStdString(levers[i].set);
    auto* button = new QPushButton(QStringLiteral("%1   %2").arg(set, lever_short(levers[i])));
    button->setObjectName(QStringLiteral("lever"));
    button->setToolTip(tr("A step would take %1. Click to try it; Undo takes it back.").arg(lever_effect(levers[i])));
    button->setAccessibleName(tr("Try %1: %2").arg(set, lever_effect(levers[i])));
    connect(button, &QPushButton::clicked, this, [this, set] { emit lever_chosen(set); });
    flow_->addWidget(button);
    button->show();
  }
}

void AnswerBar::show_errors(const Errors& errors) {
  QStringList lines;
  for (std::size_t i = 0; i < errors.size() && i < 6; ++i) lines << QString::fromStdString(to_text(errors[i]));
  if (errors.size() > 6) lines << tr("and %n more", nullptr, static_cast<int>(errors.size()) - 6);
  trouble_->setText(lines.join('\n'));
  trouble_->setVisible(!lines.isEmpty());
}

void AnswerBar::show_failure(const QString& why, const QString& last_words) {
  trouble_->setText(last_words.isEmpty() ? why : why + '\n' + last_words);
  trouble_->show();
}

void AnswerBar::show_note(const QString& main, const QString& why) {
  show_answer({});
  main_->setText(main);
  why_->setText(why);
  why_->show();
  trouble_->hide();
}

void AnswerBar::clear_failure() {
  trouble_->hide();
}

void AnswerBar::show_details(bool on) {
  more_button_->setChecked(on);
}

bool AnswerBar::focus_levers() {
  for (auto* button : levers_->findChildren<QPushButton*>())
    if (button->isVisible() && button->isEnabled()) {
      button->setFocus(Qt::ShortcutFocusReason);
      return true;
    }
  return false;
}

void AnswerBar::show_state(const QString& text, const QString& tip) {
  state_->setText(text);
  state_->setToolTip(tip);
  state_->setVisible(!text.isEmpty());
}

}  // namespace lockstep::gui
