// The editors of a setting, by its type.
#include <QCheckBox>
#include <QComboBox>
#include <QCompleter>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSlider>

#include "gui/app/field_control.h"
#include "gui/app/field_labels.h"
#include "gui/app/glossary.h"
#include "models/zoo/zoo.h"
#include "simulator/base/document.h"
#include "topologies/presets.h"

namespace lockstep::gui {
namespace {

constexpr int kBoxWidth = 156;  // of a number beside a slider, with its unit

int next_drag() {
  static int drag = 0;
  return ++drag;
}

QStringList names_for(const std::string& key) {
  QStringList names;
  if (key == "model.name")
    for (const ZooEntry& entry : zoo()) names << QString::fromStdString(entry.name);
  if (key == "topology.node")
    for (const std::string& name : preset_names(PresetKind::Node)) names << QString::fromStdString(name);
  if (key == "topology.fabric") {
    names << QStringLiteral("none") << QStringLiteral("own");
    for (const std::string& name : preset_names(PresetKind::Fabric)) names << QString::fromStdString(name);
  }
  return names;
}

}  // namespace

QWidget* FieldControl::make_editor() {
  if (field_.key == "strategy") return make_strategies();
  if (field_.type == FieldType::Boolean || (field_.type == FieldType::Choice && !field_.list)) return make_choice();
  if (!names_for(field_.key).isEmpty()) return make_names();
  return make_number();
}

QWidget* FieldControl::make_choice() {
  if (field_.type == FieldType::Boolean) {
    check_ = new QCheckBox(tr("on"));
    check_->setAccessibleName(title_->text());
    connect(check_, &QCheckBox::clicked, this, [this](bool on) { emit_edited(on ? "true" : "false"); });
    return check_;
  }
  combo_ = new QComboBox;
  for (const FieldChoice& choice : field_.choices)
    if (!choice.later) combo_->addItem(QString::fromStdString(choice.name));
  combo_->setAccessibleName(title_->text());
  combo_->setFocusPolicy(Qt::StrongFocus);
  combo_->installEventFilter(this);  // the wheel scrolls the panel
  connect(combo_, &QComboBox::activated, this, [this] { emit_edited(combo_->currentText().toStdString()); });
  return combo_;
}

// Names that come along, and paths of files.
QWidget* FieldControl::make_names() {
  combo_ = new QComboBox;
  combo_->setEditable(true);
  combo_->setInsertPolicy(QComboBox::NoInsert);
  combo_->addItems(names_for(field_.key));
  combo_->completer()->setCompletionMode(QCompleter::PopupCompletion);
  combo_->completer()->setFilterMode(Qt::MatchContains);
  combo_->setAccessibleName(title_->text());
  combo_->setMinimumContentsLength(12);
  combo_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  combo_->setFocusPolicy(Qt::StrongFocus);
  combo_->installEventFilter(this);
  const auto take = [this] {
    if (!showing_) emit_edited(yaml_scalar(combo_->currentText().trimmed().toStdString()));
  };
  connect(combo_, &QComboBox::activated, this, take);
  connect(combo_->lineEdit(), &QLineEdit::editingFinished, this, [this, take] {
    if (yaml_ && combo_->currentText().trimmed() == plain_yaml(*yaml_) && !wrong()) return;
    take();
  });
  return combo_;
}

QWidget* FieldControl::make_strategies() {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  dp_ = new QCheckBox(tr("DataParallel"));
  ddp_ = new QCheckBox(tr("DDP"));
  dp_->setToolTip(term_text(QStringLiteral("dp")));
  ddp_->setToolTip(term_text(QStringLiteral("ddp")));
  for (QCheckBox* box : {dp_, ddp_}) {
    layout->addWidget(box);
    connect(box, &QCheckBox::clicked, this, [this] {
      emit_edited(dp_->isChecked() && ddp_->isChecked() ? "[dp, ddp]"
                  : dp_->isChecked()                    ? "dp"
                  : ddp_->isChecked()                   ? "ddp"
                                                        : "single");
    });
  }
  layout->addStretch(1);
  return row;
}

QWidget* FieldControl::make_number() {
  line_ = new QLineEdit;
  line_->setAccessibleName(title_->text());
  line_->installEventFilter(this);
  connect(line_, &QLineEdit::editingFinished, this, &FieldControl::typed);
  scale_ = slider_scale(field_, std::nullopt);
  const bool counts = field_.key == "gpus";
  const QString unit = unit_of(field_);
  if (!scale_ && !counts && unit.isEmpty()) return line_;
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  if (scale_ || counts) {
    add_slider();
    layout->addWidget(slider_, 1);
  }
  auto* box = new QWidget;  // of one width, so that sliders end under each other
  auto* in_box = new QHBoxLayout(box);
  in_box->setContentsMargins(0, 0, 0, 0);
  in_box->addWidget(line_, 1);
  if (!unit.isEmpty()) {
    auto* label = new QLabel(unit);
    label->setObjectName(QStringLiteral("muted"));
    in_box->addWidget(label);
  }
  if (slider_ != nullptr) box->setFixedWidth(kBoxWidth);
  layout->addWidget(box);
  row->setFocusProxy(line_);
  return row;
}

void FieldControl::add_slider() {
  slider_ = new QSlider(Qt::Horizontal);
  slider_->setRange(0, field_.key == "gpus" ? 10 : kSliderSteps);
  slider_->setPageStep(field_.key == "gpus" ? 1 : kSliderSteps / 10);
  slider_->setSingleStep(field_.key == "gpus" ? 1 : 4);
  slider_->setAccessibleName(tr("%1, slider").arg(title_->text()));
  slider_->setMinimumWidth(70);
  slider_->installEventFilter(this);
  connect(slider_, &QSlider::sliderPressed, this, [this] {
    drag_ = next_drag();
    gpus_at_press_ = list_of(yaml_.value_or(""));
  });
  connect(slider_, &QSlider::sliderReleased, this, [this] { drag_ = 0; });
  connect(slider_, &QSlider::valueChanged, this, &FieldControl::slider_moved);
}

}  // namespace lockstep::gui
