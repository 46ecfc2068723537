// One axis of a sweep map: which key, found by typing any of its words, and the list of its values, checked in place.
#pragma once

#include <QWidget>

#include "gui/sweep/sweep_axis.h"

class QComboBox;
class QLineEdit;
class QStringListModel;
class QToolButton;

namespace lockstep::gui {

class WordLabel;

class AxisEditor : public QWidget {
  Q_OBJECT

 public:
  explicit AxisEditor(const QString& name, QWidget* parent = nullptr);
  void show_axis(const PlanAxis& axis, const AxisKeys& keys);
  void show_errors(const Errors& errors);  // the list stays red as it was typed
  bool wrong() const;
  QComboBox& keys() { return *keys_; }
  QLineEdit& values() { return *values_; }

 signals:
  void key_chosen(const std::string& key);
  void values_edited(const std::string& values);
  void reset_asked();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fill_keys(const AxisKeys& keys);
  void take_key();

  QComboBox* keys_ = nullptr;
  QLineEdit* values_ = nullptr;
  QToolButton* reset_ = nullptr;
  WordLabel* wrong_ = nullptr;
  QStringListModel* words_ = nullptr;  // of all keys, for the completer
  PlanAxis axis_;
  std::vector<const FieldInfo*> known_;
  bool refused_ = false;
};

}  // namespace lockstep::gui
