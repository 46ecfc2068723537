// The settings of the open scenario. Made from the field table: what people move most comes first, all other keys wait
// in groups below, and a search finds any of them.
#pragma once

#include <QWidget>
#include <map>
#include <string>
#include <vector>

#include "gui/app/field_control.h"
#include "gui/document/scenario_document.h"

class QLineEdit;
class QVBoxLayout;

namespace lockstep::gui {

// A part of the panel: a title and keys of the field table.
struct FieldGroup {
  QString title;
  std::vector<const FieldInfo*> fields;
};
// The first group holds what people move most; the others, together, every other key that this version knows.
std::vector<FieldGroup> field_groups();

class WhatIfPanel : public QWidget {
  Q_OBJECT

 public:
  explicit WhatIfPanel(ScenarioDocument& document, QWidget* parent = nullptr);

  // What holds where keys are not set, and what a prediction found wrong.
  void show_effective(const std::map<std::string, std::string>& effective);
  void show_errors(const Errors& errors);
  void find_setting();                            // the keyboard to the search
  FieldControl* control(const std::string& key);  // opens its group; nullptr for keys without one

 private:
  struct Section {
    FieldGroup group;
    QWidget* head = nullptr;  // opens and closes it; nullptr for the first
    QWidget* body = nullptr;
    std::vector<FieldControl*> controls;  // made when it is opened first
  };
  void add_section(const FieldGroup& group, QVBoxLayout* column);
  void open_section(Section& section, bool open);
  void fill_section(Section& section);
  void refresh();
  void refresh(Section& section);
  void refresh(FieldControl& control);
  void refresh_unread(FieldControl& control);
  bool is_shown(const FieldInfo& field) const;
  void edited(FieldControl& control, const std::string& yaml, int drag);
  void filter(const QString& words);

  ScenarioDocument& document_;
  QLineEdit* search_ = nullptr;
  std::vector<Section> sections_;
  std::map<std::string, std::string> effective_;
};

}  // namespace lockstep::gui
