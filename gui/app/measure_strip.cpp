#include "gui/app/measure_strip.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QStackedWidget>
#include <QTableWidget>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/app/theme.h"
#include "gui/charts/step_dots.h"
#include "gui/document/variant.h"
#include "simulator/base/format.h"

namespace lockstep::gui {
namespace {

constexpr int kSettleMs = 400;
constexpr int kStepsToCalibrate = 3;  // of fewer, the median is chance
constexpr int kMostSteps = 10'000, kMostRepeats = 100;

QString time_text(double seconds) {
  return QString::fromStdString(format_time(seconds));
}

QLabel* note_label(const char* name) {
  auto* label = new QLabel;
  label->setObjectName(QString::fromLatin1(name));
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  return label;
}

// Steps that the speed of one GPU or core is the median of.
int single_steps(const Result& result) {
  std::size_t steps = 0;
  for (const Run& run : result.runs)
    if (run.strategy == Strategy::Single && run.gpus == 1)
      for (const Samples& repeat : run.samples) steps += repeat.step_times_s.size();
  return static_cast<int>(steps);
}

int expected_steps(const PlanLine& plan) {
  int rows = 0;
  for (const PlanLine::Row& row : plan.rows) rows += row.not_run ? 0 : 1;
  return rows * plan.repeats * (plan.warm_up + plan.steps);
}

}  // namespace

MeasureStrip::MeasureStrip(LiveMeasurement& measurement, ScenarioDocument& document, QWidget* parent)
    : QFrame(parent), measurement_(measurement), document_(document) {
  setObjectName(QStringLiteral("card"));
  new QVBoxLayout(this);
  layout()->setContentsMargins(14, 8, 10, 8);
  layout()->setSpacing(4);
  make_head();
  wrong_ = note_label("wrong");
  layout()->addWidget(wrong_);
  progress_ = new QProgressBar;
  progress_->setTextVisible(false);
  progress_->setAccessibleName(tr("Progress of the measurement"));
  layout()->addWidget(progress_);
  body_ = new QStackedWidget;
  dots_ = new StepDots;
  table_ = new QTableWidget;
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->verticalHeader()->hide();
  table_->setAccessibleName(tr("Measured steps as a table"));
  body_->addWidget(dots_);
  body_->addWidget(table_);
  body_->setFixedHeight(136);
  layout()->addWidget(body_);
  make_foot();
  connect(&measurement_, &LiveMeasurement::state_changed, this, &MeasureStrip::refresh);
  connect(&measurement_, &LiveMeasurement::stepped, this, &MeasureStrip::refresh_steps);
  connect(&measurement_, &LiveMeasurement::result_changed, this, &MeasureStrip::refresh_foot);
  connect(&document_, &ScenarioDocument::changed, this, &MeasureStrip::refresh_foot);
  // What would run follows the scenario until it does.
  auto* settle = new QTimer(this);
  settle->setSingleShot(true);
  settle->setInterval(kSettleMs);
  connect(&document_, &ScenarioDocument::changed, this, [this, settle] {
    if (isVisible() && measurement_.state() == MeasureState::Ready) settle->start();
  });
  connect(settle, &QTimer::timeout, this, [this] {
    if (isVisible() && measurement_.state() == MeasureState::Ready) ask();
  });
  hide();
}

void MeasureStrip::make_head() {
  auto* row = new QHBoxLayout;
  row->setSpacing(6);
  title_ = new QLabel(tr("Measured here"));
  QFont bold = title_->font();
  bold.setBold(true);
  title_->setFont(bold);
  row->addWidget(title_, 0, Qt::AlignTop);
  state_ = note_label("muted");
  row->addWidget(state_, 1, Qt::AlignTop);
  const auto number = [&](QLabel*& label, QSpinBox*& box, const QString& text, int most, const QString& tip) {
    label = new QLabel(text);
    box = new QSpinBox;
    box->setRange(1, most);
    box->setAccessibleName(text);
    box->setToolTip(tip);
    box->setAccessibleDescription(tip);
    box->setKeyboardTracking(false);
    box->setButtonSymbols(QAbstractSpinBox::NoButtons);  // keys and wheel step it
    box->setAlignment(Qt::AlignRight);
    label->setBuddy(box);
    connect(box, &QSpinBox::valueChanged, this, &MeasureStrip::ask);
    row->addWidget(label, 0, Qt::AlignTop);
    row->addWidget(box, 0, Qt::AlignTop);
  };
  number(steps_label_, steps_, tr("Steps"), kMostSteps,
         tr("Steps that count in each launch, after warming up: 1 to %1").arg(kMostSteps));
  number(repeats_label_, repeats_, tr("Repeats"), kMostRepeats,
         tr("Launches of each row, in fresh processes: 1 to %1").arg(kMostRepeats));
  start_ = new QPushButton(tr("Start"));
  start_->setToolTip(tr("Measure what is told here"));
  stop_ = new QPushButton(tr("Stop measuring"));
  stop_->setToolTip(tr("Ends the ranks; what is measured by then stays"));
  connect(start_, &QPushButton::clicked, &measurement_, &LiveMeasurement::start);
  connect(stop_, &QPushButton::clicked, &measurement_, &LiveMeasurement::stop);
  table_button_ = new QToolButton;
  table_button_->setCheckable(true);
  table_button_->setToolTip(tr("The numbers as a table"));
  table_button_->setAccessibleName(tr("Measured steps as a table"));
  connect(table_button_, &QToolButton::toggled, this, [this](bool on) {
    body_->setCurrentIndex(on ? 1 : 0);
    refresh_steps();
  });
  close_ = new QToolButton;
  close_->setToolTip(tr("Close; measured points stay in the charts"));
  close_->setAccessibleName(tr("Close the measurement"));
  connect(close_, &QToolButton::clicked, this, [this] {
    measurement_.stop();
    hide();
  });
  for (QWidget* one : {static_cast<QWidget*>(start_), static_cast<QWidget*>(stop_),
                       static_cast<QWidget*>(table_button_), static_cast<QWidget*>(close_)})
    row->addWidget(one, 0, Qt::AlignTop);
  static_cast<QVBoxLayout*>(layout())->addLayout(row);
  theme_changed();
}

void MeasureStrip::make_foot() {
  auto* row = new QHBoxLayout;
  beside_ = note_label("muted");
  row->addWidget(beside_, 1);
  open_ = new QPushButton(tr("Open what was measured"));
  open_->setToolTip(
      tr("Makes the open scenario the measured one, so that its prediction stands beside it; Undo goes back"));
  calibrate_ = new QPushButton(tr("Calibrate"));
  calibrate_->setToolTip(
      tr("Opens what was measured and tells the prediction how fast one GPU or core is; Undo goes back"));
  connect(open_, &QPushButton::clicked, this, [this] { open_measured(false); });
  connect(calibrate_, &QPushButton::clicked, this, [this] { open_measured(true); });
  row->addWidget(open_);
  row->addWidget(calibrate_);
  static_cast<QVBoxLayout*>(layout())->addLayout(row);
}

void MeasureStrip::theme_changed() {
  table_button_->setIcon(icon(QStringLiteral("table")));
  close_->setIcon(icon(QStringLiteral("close")));
  if (dots_ != nullptr) dots_->update();
}

void MeasureStrip::ask() {
  if (measurement_.state() == MeasureState::Running || measurement_.state() == MeasureState::Stopping) return show();
  LiveMeasurement::Request request;
  request.scenario = QByteArray::fromStdString(document_.text());
  request.folder = document_.folder();
  request.throughput_unit = unit_;
  if (isVisible() && sender() != nullptr && sender()->inherits("QSpinBox")) {
    request.steps = steps_->value();
    request.repeats = repeats_->value();
  }
  show();
  const auto& read = document_.read();
  request.traced = read && read->scenario.front_end != FrontEnd::Python;
  measurement_.ask(request);
}

QString MeasureStrip::plan_text() const {
  const PlanLine& plan = measurement_.plan();
  QStringList rows, out;
  std::int64_t least = 0, most = 0;
  for (const PlanLine::Row& row : plan.rows) {
    if (row.not_run) {
      out << row_name(row.strategy, row.gpus);
      continue;
    }
    rows << row_name(row.strategy, row.gpus);
    least = least == 0 ? row.per_gpu_batch : std::min(least, row.per_gpu_batch);
    most = std::max(most, row.per_gpu_batch);
  }
  const QString batch = least == most ? QString::number(most) : QStringLiteral("%1–%2").arg(least).arg(most);
  QStringList lines = {tr("Will train for real on %1: %2. Batch %3 per rank, %4 steps after %5 to warm up, %6 × each; "
                          "about %7 by the estimate.")
                           .arg(QString::fromStdString(plan.device), rows.join(QStringLiteral(", ")), batch)
                           .arg(plan.steps)
                           .arg(plan.warm_up)
                           .arg(plan.repeats)
                           .arg(time_text(plan.expected_s))};
  if (!out.isEmpty()) lines << tr("Does not run here: %1.").arg(out.join(QStringLiteral(", ")));
  for (const std::string& note : plan.notes) lines << QStringLiteral("· ") + QString::fromStdString(note);
  return lines.join('\n');
}

QString MeasureStrip::state_text() const {
  switch (measurement_.state()) {
    case MeasureState::Idle:
      return {};
    case MeasureState::Asking:
      return tr("Looking at what would run here");
    case MeasureState::Refused:
      return tr("This cannot be measured here:");
    case MeasureState::Ready:
      return plan_text();
    case MeasureState::Running:
      return measurement_.now().isEmpty() ? tr("Starting; about %1 in all").arg(time_text(measurement_.left_s()))
                                          : tr("Now %1; %2 of %3 launches done, about %4 left")
                                                .arg(measurement_.now())
                                                .arg(measurement_.done())
                                                .arg(measurement_.total())
                                                .arg(time_text(measurement_.left_s()));
    case MeasureState::Stopping:
      return tr("Stopping; what is measured by now is kept");
    case MeasureState::Done:
      return measured_sentence(measured_rows(measurement_.steps()));
    case MeasureState::Failed:
      return tr("Measuring ended early: %1").arg(measurement_.trouble().section('\n', 0, 0));
  }
  return {};
}

// The first line stands behind the colon of the state.
QString MeasureStrip::trouble_text() const {
  const QString& all = measurement_.trouble();
  return measurement_.state() == MeasureState::Failed ? all.section('\n', 1) : all;
}

// Another number of steps asks again: meanwhile the place of the text stays as it is, so that the boxes beside it do.
void MeasureStrip::hold_still() {
  const MeasureState state = measurement_.state();
  const int height = state_->height();
  if (state == MeasureState::Asking && isVisible() && steps_->isVisible())
    state_->setMinimumHeight(height);
  else if (state != MeasureState::Ready && state != MeasureState::Asking)
    state_->setMinimumHeight(0);
}

void MeasureStrip::refresh() {
  hold_still();
  const MeasureState state = measurement_.state();
  const bool running = state == MeasureState::Running || state == MeasureState::Stopping;
  const bool ready = state == MeasureState::Ready;
  const bool asked = ready || state == MeasureState::Asking, refused = state == MeasureState::Refused;
  title_->setText(running ? tr("Measuring") : asked || refused ? tr("Measure here") : tr("Measured here"));
  const QString trouble = trouble_text();
  wrong_->setText(trouble);
  wrong_->setVisible(!trouble.isEmpty());
  start_->setVisible(!running && !refused);
  start_->setEnabled(!asked || ready);
  start_->setText(state == MeasureState::Done || state == MeasureState::Failed ? tr("Measure again") : tr("Start"));
  // It would push the boxes aside; what is asked again ends by itself.
  stop_->setVisible(running || (state == MeasureState::Asking && state_->minimumHeight() == 0));
  stop_->setEnabled(state != MeasureState::Stopping);
  for (QWidget* one : {static_cast<QWidget*>(steps_), static_cast<QWidget*>(steps_label_),
                       static_cast<QWidget*>(repeats_), static_cast<QWidget*>(repeats_label_)})
    one->setVisible(asked);
  if (ready) {
    const QSignalBlocker quiet_steps(steps_), quiet_repeats(repeats_);
    steps_->setValue(measurement_.plan().steps);
    repeats_->setValue(measurement_.plan().repeats);
  }
  progress_->setVisible(running);
  refresh_steps();
  refresh_foot();
  if (running && !stop_->hasFocus() && isVisible() && start_->hasFocus()) stop_->setFocus();
}

void MeasureStrip::refresh_steps() {
  const MeasureState state = measurement_.state();
  const bool running = state == MeasureState::Running || state == MeasureState::Stopping;
  const bool any = running || !measurement_.steps().empty();
  state_->setText(state_text());
  body_->setVisible(any);
  table_button_->setVisible(any);
  progress_->setRange(0, std::max(1, measurement_.total()));
  progress_->setValue(measurement_.done());
  dots_->show_steps(measurement_.steps(), running ? expected_steps(measurement_.plan()) : 0);
  if (table_button_->isChecked()) fill(*table_, measured_table(measured_rows(measurement_.steps())));
}

bool MeasureStrip::same_thing() const {
  return differences(document_, measurement_.plan().scenario_yaml).empty();
}

void MeasureStrip::refresh_foot() {
  const bool held = measurement_.state() == MeasureState::Asking && state_->minimumHeight() > 0;
  open_->setEnabled(!held);
  calibrate_->setEnabled(!held);
  if (held) return;  // what stands there keeps its place until the answer
  const bool known = !measurement_.plan().scenario_yaml.empty() && document_.read().has_value();
  const bool measured = measurement_.result() != nullptr;
  const bool same = known && same_thing();
  const std::string speed = measured ? measured_calibration(*measurement_.result()) : std::string();
  const bool over = measurement_.state() == MeasureState::Done || measurement_.state() == MeasureState::Failed;
  beside_->setVisible(known && !(same && !measured));
  open_->setVisible(known && !same);
  const int steps = measured ? single_steps(*measurement_.result()) : 0;
  calibrate_->setVisible(known && over && !speed.empty() && steps >= kStepsToCalibrate);
  calibrate_->setText(
      (same ? tr("Calibrate with %1 (median of %2 steps)") : tr("Open and calibrate with %1 (median of %2 steps)"))
          .arg(QString::fromStdString(speed))
          .arg(steps));
  open_->setText(measured ? tr("Open what was measured") : tr("Open what would be measured"));
  beside_->setText(same ? tr("The prediction above is one of the same scenario on the same machine.")
                        : tr("The prediction above is one of another machine or batch than what is measured: the two "
                             "cannot be compared."));
}

void MeasureStrip::open_measured(bool calibrated) {
  std::vector<std::string> more;
  if (calibrated && measurement_.result())
    more.push_back("calibrate.single_gpu=" + measured_calibration(*measurement_.result()));
  emit trouble(become(document_, measurement_.plan().scenario_yaml, more, tr("open what was measured")));
}

}  // namespace lockstep::gui
