// One setting of the what-if panel, made from its row of the field table: a slider with a number box, choices, a
// switch, or a text; what is wrong with a value, and what is allowed, in place.
#pragma once

#include <QWidget>
#include <optional>
#include <string>

#include "gui/app/slider_scale.h"
#include "simulator/base/error.h"
#include "simulator/base/field_info.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QSlider;
class QToolButton;

namespace lockstep::gui {

// Text as a person reads it: without YAML's quotes.
QString plain_yaml(const std::string& yaml);

class FieldControl : public QWidget {
  Q_OBJECT

 public:
  explicit FieldControl(const FieldInfo& field, QWidget* parent = nullptr);

  const FieldInfo& field() const { return field_; }
  // yaml: the value, nothing where the key is not set; effective: what then holds, empty when unknown.
  void show_value(const std::optional<std::string>& yaml, bool is_default, const std::string& effective);
  // Of a scenario that cannot be read: what its text says for this key; nothing: empty, and locked for that reason.
  void show_written(const std::optional<std::string>& yaml, const QString& locked);
  void show_errors(const Errors& errors);
  // A value that the scenario did not take: it stays in the box, red, until it is changed or taken back (Esc).
  void show_refused(const Errors& errors);
  bool refused() const { return refused_; }
  bool wrong() const;

 signals:
  // drag: not 0 while a slider moves, the same number from press to release.
  void edited(const std::string& key, const std::string& yaml, int drag);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void make_title();
  QWidget* make_editor();
  QWidget* make_choice();
  QWidget* make_names();
  QWidget* make_strategies();
  QWidget* make_number();
  void add_slider();
  void slider_moved(int position);
  void typed();
  void step(int by);
  void emit_edited(const std::string& yaml, int drag = 0);
  std::string yaml_of_text() const;
  QString for_people(const std::string& effective) const;
  void update_slider();
  void show_check(QCheckBox& box, const std::string& yaml);
  void mark_wrong(bool wrong);

  const FieldInfo& field_;
  QWidget* editor_ = nullptr;
  QLabel *title_ = nullptr, *wrong_ = nullptr;
  QToolButton* reset_ = nullptr;
  QLineEdit* line_ = nullptr;
  QComboBox* combo_ = nullptr;
  QCheckBox* check_ = nullptr;
  QCheckBox *dp_ = nullptr, *ddp_ = nullptr;
  QSlider* slider_ = nullptr;
  std::optional<SliderScale> scale_;
  std::optional<std::string> yaml_;
  std::string effective_;
  std::vector<int> gpus_at_press_;
  int drag_ = 0;
  bool showing_ = false, is_default_ = true, refused_ = false, unread_ = false;
};

}  // namespace lockstep::gui
