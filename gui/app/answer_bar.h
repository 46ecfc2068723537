// The answer on top of the window: question, sentence, reason, the difference from the pinned result, how it was
// obtained, and the levers, which apply themselves when clicked. Also what went wrong, and which loaded results are of
// another scenario.
#pragma once

#include <QFrame>

#include "gui/charts/view.h"
#include "simulator/base/error.h"

class QLabel;
class QPushButton;

namespace lockstep::gui {

class FlowLayout;

class AnswerBar : public QFrame {
  Q_OBJECT

 public:
  explicit AnswerBar(QWidget* parent = nullptr);

  void show_question(const QString& question);
  void show_answer(const Shown& shown);
  void show_errors(const Errors& errors);                            // the scenario is wrong
  void show_failure(const QString& why, const QString& last_words);  // the simulation died
  void show_note(const QString& main, const QString& why);           // in place of an answer, until there is one
  void clear_failure();
  void show_details(bool on);                                     // what stands behind "more"
  bool focus_levers();                                            // false: there are none
  void show_state(const QString& text, const QString& tip = {});  // "simulated in 0.3 s"

 signals:
  void details_shown(bool on);
  void lever_chosen(const QString& set);

 private:
  void show_levers(const Result& result);
  void show_comparison(const Shown& shown);

  QLabel *question_ = nullptr, *main_ = nullptr, *warning_ = nullptr, *why_ = nullptr, *more_ = nullptr,
         *state_ = nullptr;
  QLabel *against_ = nullptr, *pinned_ = nullptr, *doubt_ = nullptr;  // the pinned result; files of other scenarios
  QLabel* trouble_ = nullptr;
  QPushButton* more_button_ = nullptr;
  QWidget* levers_ = nullptr;
  FlowLayout* flow_ = nullptr;
};

}  // namespace lockstep::gui
