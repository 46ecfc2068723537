// Frames around views: a chart with its table, several charts that share a place, the scenario as text.
#pragma once

#include <QFrame>
#include <QPlainTextEdit>
#include <vector>

#include "gui/charts/view.h"
#include "gui/document/scenario_document.h"

class QButtonGroup;
class QLabel;
class QStackedWidget;
class QTableWidget;
class QTimer;
class QToolButton;

namespace lockstep::gui {

// A card that shows one of several views, or the numbers of that view as a table.
class ViewFrame : public QFrame {
  Q_OBJECT

 public:
  explicit ViewFrame(const std::vector<View*>& views, QWidget* parent = nullptr);
  View* current() const { return views_[static_cast<std::size_t>(index_)]; }
  const std::vector<View*>& views() const { return views_; }
  void choose(int index);
  void show_table(bool on);
  void refresh();  // the views show another result

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  std::vector<View*> views_;
  int index_ = 0;
  bool by_hand_ = false;  // chosen by the user
  QButtonGroup* segments_ = nullptr;
  QStackedWidget* stack_ = nullptr;
  QTableWidget* table_ = nullptr;
  QToolButton* table_button_ = nullptr;
};

// The scenario as the file it is; what is typed becomes one undo step, right or wrong.
class TextPage : public QFrame {
  Q_OBJECT

 public:
  explicit TextPage(ScenarioDocument& document, QWidget* parent = nullptr);
  void take();  // hands to the document what was typed a moment ago

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  void refresh();
  ScenarioDocument& document_;
  QPlainTextEdit* edit_ = nullptr;
  QLabel* wrong_ = nullptr;
  QTimer* settle_ = nullptr;
  bool typed_ = false;  // and not yet handed over
};

}  // namespace lockstep::gui
