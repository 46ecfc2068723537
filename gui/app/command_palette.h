// Any action of the window by a part of its name, without knowing where it stands or which keys it has.
#pragma once

#include <QAction>
#include <QDialog>

class QLineEdit;
class QListWidget;

namespace lockstep::gui {

class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  explicit CommandPalette(const QList<QAction*>& actions, QWidget* parent = nullptr);
  QAction* chosen() const { return chosen_; }  // nullptr: none; who asked triggers it

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void filter(const QString& words);
  void choose();

  QList<QAction*> actions_;
  QLineEdit* words_ = nullptr;
  QListWidget* list_ = nullptr;
  QAction* chosen_ = nullptr;
};

}  // namespace lockstep::gui
