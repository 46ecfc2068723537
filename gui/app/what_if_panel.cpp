#include "gui/app/what_if_panel.h"

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/app/field_labels.h"
#include "scenarios/fields.h"

namespace lockstep::gui {
namespace {

bool has_control(const FieldInfo& field) {
  if (field.type == FieldType::Later || field.type == FieldType::Ignored || field.type == FieldType::Rows) return false;
  return !(field.type == FieldType::Choice && field.choices.size() < 2);
}

const std::vector<std::string>& first_keys() {
  static const std::vector<std::string> keys = {"model.name",
                                                "model.image",
                                                "model.sequence",
                                                "batch.per_gpu",
                                                "batch.global",
                                                "precision",
                                                "gpus",
                                                "strategy",
                                                "topology.node",
                                                "topology.fabric",
                                                "topology.override.nvlink.rate",
                                                "topology.override.nic.rate",
                                                "ddp.bucket_cap",
                                                "accumulate.steps",
                                                "input.source",
                                                "input.memory"};
  return keys;
}

// Title and the beginnings of the keys below it.
struct Topic {
  const char* title;
  std::vector<const char*> prefixes;
};
const std::vector<Topic>& topics() {
  static const std::vector<Topic> all = {
      {QT_TRANSLATE_NOOP("lockstep::gui::WhatIfPanel", "Model"), {"model.", "batch.", "precision", "tf32."}},
      {QT_TRANSLATE_NOOP("lockstep::gui::WhatIfPanel", "Machine and links"), {"topology."}},
      {QT_TRANSLATE_NOOP("lockstep::gui::WhatIfPanel", "DDP"), {"ddp.", "accumulate.", "gloo."}},
      {QT_TRANSLATE_NOOP("lockstep::gui::WhatIfPanel", "Optimizer and CPU"), {"optimizer.", "front_end", "host."}},
      {QT_TRANSLATE_NOOP("lockstep::gui::WhatIfPanel", "Input and data loader"), {"input.", "loader.", "data."}},
      {QT_TRANSLATE_NOOP("lockstep::gui::WhatIfPanel", "Calibration, noise, versions"),
       {"calibrate.", "noise", "seed", "software."}},
      {QT_TRANSLATE_NOOP("lockstep::gui::WhatIfPanel", "Measuring and the rest"), {""}}};
  return all;
}

QString search_words(const FieldControl& control) {
  return search_text(control.field());
}

}  // namespace

std::vector<FieldGroup> field_groups() {
  const TableInfo& table = scenario_fields().info();
  std::vector<const FieldInfo*> left;
  for (const FieldInfo& field : table.fields)
    if (has_control(field)) left.push_back(&field);
  std::vector<FieldGroup> groups(1);
  const auto move_to = [&](FieldGroup& group, const FieldInfo* field) {
    group.fields.push_back(field);
    left.erase(std::find(left.begin(), left.end(), field));
  };
  for (const std::string& key : first_keys())
    if (const FieldInfo* field = table.find(key)) move_to(groups.front(), field);
  for (const Topic& topic : topics()) {
    FieldGroup group{WhatIfPanel::tr(topic.title), {}};
    for (const FieldInfo* field : std::vector<const FieldInfo*>(left))
      if (std::any_of(topic.prefixes.begin(), topic.prefixes.end(),
                      [&](const char* prefix) { return field->key.rfind(prefix, 0) == 0; }))
        move_to(group, field);
    if (!group.fields.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

WhatIfPanel::WhatIfPanel(ScenarioDocument& document, QWidget* parent) : QWidget(parent), document_(document) {
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFocusPolicy(Qt::NoFocus);
  outer->addWidget(scroll);
  auto* page = new QWidget;
  page->setObjectName(QStringLiteral("page"));
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(14, 12, 14, 14);
  column->setSpacing(10);
  search_ = new QLineEdit;
  search_->setPlaceholderText(tr("Find a setting"));
  search_->setAccessibleName(tr("Find a setting"));
  search_->setClearButtonEnabled(true);
  connect(search_, &QLineEdit::textChanged, this, &WhatIfPanel::filter);
  column->addWidget(search_);
  for (const FieldGroup& group : field_groups()) add_section(group, column);
  column->addStretch(1);
  scroll->setWidget(page);
  fill_section(sections_.front());
  connect(&document_, &ScenarioDocument::changed, this, qOverload<>(&WhatIfPanel::refresh));
}

void WhatIfPanel::add_section(const FieldGroup& group, QVBoxLayout* column) {
  Section section;
  section.group = group;
  section.body = new QWidget;
  auto* layout = new QVBoxLayout(section.body);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(10);
  if (!group.title.isEmpty()) {
    auto* head = new QPushButton(QStringLiteral("▸  ") + group.title);
    head->setObjectName(QStringLiteral("link"));
    head->setCheckable(true);
    const std::size_t index = sections_.size();
    connect(head, &QPushButton::toggled, this, [this, index](bool open) { open_section(sections_[index], open); });
    section.head = head;
    section.body->hide();
    column->addWidget(head);
  }
  column->addWidget(section.body);
  sections_.push_back(std::move(section));
}

void WhatIfPanel::open_section(Section& section, bool open) {
  if (auto* head = static_cast<QPushButton*>(section.head)) {
    const QSignalBlocker quiet(head);
    head->setChecked(open);
    head->setText((open ? QStringLiteral("▾  ") : QStringLiteral("▸  ")) + section.group.title);
  }
  if (open) fill_section(section);
  section.body->setVisible(open);
}

void WhatIfPanel::fill_section(Section& section) {
  if (!section.controls.empty()) return;
  for (const FieldInfo* field : section.group.fields) {
    auto* control = new FieldControl(*field);
    connect(control, &FieldControl::edited, this,
            [this, control](const std::string&, const std::string& yaml, int drag) { edited(*control, yaml, drag); });
    section.body->layout()->addWidget(control);
    section.controls.push_back(control);
  }
  refresh(section);
}

void WhatIfPanel::refresh() {
  for (Section& section : sections_) refresh(section);
}

void WhatIfPanel::refresh(Section& section) {
  for (FieldControl* control : section.controls) refresh(*control);
}

void WhatIfPanel::refresh(FieldControl& control) {
  const FieldInfo& field = control.field();
  if (search_->text().isEmpty()) control.setVisible(is_shown(field));
  if (!document_.read()) return refresh_unread(control);
  const auto at = document_.values().find(field.key);
  const auto effective = effective_.find(field.key);
  const std::string otherwise = effective == effective_.end() ? std::string() : effective->second;
  std::optional<std::string> yaml;
  bool is_default = true;
  if (at != document_.values().end()) {
    yaml = at->second.yaml;
    is_default = at->second.origin.from == Origin::From::Default;
  }
  control.show_value(yaml, is_default, otherwise);
  if (!control.refused()) control.show_errors({});
}

// What the text of a scenario that cannot be read says, right or wrong, and nothing that it does not say. What it lacks
// can be set.
void WhatIfPanel::refresh_unread(FieldControl& control) {
  const std::string& key = control.field().key;
  Errors own;
  for (const Error& error : document_.errors())
    if (error.key == key) own.push_back(error);
  std::optional<std::string> yaml;
  if (document_.written())
    if (const auto at = document_.written()->find(key); at != document_.written()->end()) yaml = at->second;
  QString locked;
  if (!document_.written())
    locked = document_.text().empty() ? tr("No scenario is open: there is nothing to set.")
                                      : tr("The file cannot be read: mend it in the tab Scenario file.");
  else if (!yaml && own.empty())
    locked = tr("The scenario has an error: what holds where it says nothing is not known.");
  control.show_written(yaml, locked);
  if (!control.refused()) control.show_errors(locked.isEmpty() ? own : Errors{});
}

// One of two kinds of batch is set; options of a model that it does not take, adapters that are not there.
bool WhatIfPanel::is_shown(const FieldInfo& field) const {
  if (!document_.read()) return true;
  const Scenario& scenario = document_.read()->scenario;
  if (field.key == "batch.per_gpu") return scenario.per_gpu_batch.has_value();
  if (field.key == "batch.global") return scenario.global_batch.has_value();
  if (field.key == "topology.override.nic.rate")
    return effective_.count(field.key) != 0 || document_.values().count(field.key) != 0;
  if (field.key == "topology.override.nvlink.rate")
    return effective_.count(field.key) != 0 || document_.values().count(field.key) != 0;
  if (field.key == "input.memory") return scenario.input.source == InputSource::Host;
  return !field.shown || field.shown(&scenario);
}

void WhatIfPanel::show_effective(const std::map<std::string, std::string>& effective) {
  if (effective == effective_) return;
  effective_ = effective;
  refresh();
}

void WhatIfPanel::show_errors(const Errors& errors) {
  for (Section& section : sections_)
    for (FieldControl* control : section.controls) {
      Errors own;
      for (const Error& error : errors)
        if (error.key == control->field().key || (error.key == "model.name" && control->field().key == "model.name"))
          own.push_back(error);
      if (!own.empty()) control->show_errors(own);
    }
}

void WhatIfPanel::edited(FieldControl& control, const std::string& yaml, int drag) {
  control.show_refused(document_.set(control.field().key, yaml, drag));
}

void WhatIfPanel::find_setting() {
  search_->setFocus(Qt::ShortcutFocusReason);
  search_->selectAll();
}

FieldControl* WhatIfPanel::control(const std::string& key) {
  for (Section& section : sections_)
    for (const FieldInfo* field : section.group.fields)
      if (field->key == key) {
        open_section(section, true);
        for (FieldControl* control : section.controls)
          if (control->field().key == key) return control;
      }
  return nullptr;
}

void WhatIfPanel::filter(const QString& words) {
  const QString wanted = words.trimmed().toLower();
  for (Section& section : sections_) {
    if (section.head != nullptr) {
      section.head->setVisible(wanted.isEmpty());
      open_section(section, !wanted.isEmpty());
    }
    for (FieldControl* control : section.controls)
      control->setVisible(wanted.isEmpty() ? is_shown(control->field()) : search_words(*control).contains(wanted));
  }
}

}  // namespace lockstep::gui
