#include "gui/sweep/sweep_job.h"

#include <sys/resource.h>

#include <QElapsedTimer>
#include <QMetaObject>
#include <algorithm>
#include <map>
#include <set>

namespace lockstep::gui {
namespace {

constexpr int kDeliverMs = 40;  // points that are known since are shown together

}  // namespace

PointEstimator::PointEstimator() {
  thread_.setObjectName(QStringLiteral("points"));
  worker_.moveToThread(&thread_);
  thread_.start();
  // On Linux priorities of threads go by nice values, which Qt leaves alone.
  QMetaObject::invokeMethod(
      &worker_, [] { ::setpriority(PRIO_PROCESS, 0, 10); }, Qt::QueuedConnection);
}

PointEstimator::~PointEstimator() {
  stop();
}

void PointEstimator::stop() {
  stopped_ = true;
  thread_.quit();
  thread_.wait();
}

void PointEstimator::request(const SweepPlan& plan, std::vector<std::size_t> points,
                             std::shared_ptr<std::atomic<quint64>> wanted, quint64 id, QObject* receiver,
                             std::function<void(const Cells&)> deliver) {
  QMetaObject::invokeMethod(
      &worker_,
      [this, plan, points = std::move(points), wanted = std::move(wanted), id, receiver, deliver = std::move(deliver)] {
        if (forget_.exchange(false) || !loaded_) loaded_ = std::make_unique<LoadedInputs>();
        QElapsedTimer since;
        since.start();
        Cells cells;
        for (const std::size_t point : points) {
          if (stopped_ || *wanted != id) return;
          cells.emplace_back(point, estimate_cell(plan, point, *loaded_));
          if (since.elapsed() < kDeliverMs && point != points.back()) continue;
          QMetaObject::invokeMethod(
              receiver, [deliver, cells] { deliver(cells); }, Qt::QueuedConnection);
          cells.clear();
          since.restart();
        }
      },
      Qt::QueuedConnection);
}

SweepJob::SweepJob(PointEstimator& estimator, QObject* parent) : QObject(parent), estimator_(estimator) {
  connect(&child_, &ChildRun::run_known, this, &SweepJob::take);
  connect(&child_, &ChildRun::swept, this, [this](const SummaryLine&, double) { emit ended(); });
  connect(&child_, &ChildRun::failed, this, &SweepJob::failed);
}

SweepJob::~SweepJob() {
  ++*wanted_;
}

void SweepJob::set_plan(SweepPlan plan) {
  ++*wanted_;
  child_.stop();
  std::map<std::string, const SweepCell*> known;
  if (plan.identity == plan_.identity && plan.strategy == plan_.strategy && plan.gpus == plan_.gpus)
    for (std::size_t i = 0; i < cells_.size(); ++i) known.emplace(plan_.key_of(i), &cells_[i]);
  std::vector<SweepCell> cells(plan.size());
  for (std::size_t i = 0; i < cells.size() && !known.empty(); ++i)
    if (const auto at = known.find(plan.key_of(i)); at != known.end()) cells[i] = *at->second;
  plan_ = std::move(plan);
  cells_ = std::move(cells);
  estimate();
  emit changed();
}

void SweepJob::clear() {
  ++*wanted_;
  child_.stop();
  plan_ = {};
  cells_.clear();
  emit changed();
}

void SweepJob::estimate() {
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < cells_.size(); ++i)
    if (cells_[i].state == CellState::Pending) points.push_back(i);
  if (points.empty()) return;
  const quint64 id = ++*wanted_;
  estimator_.request(plan_, std::move(points), wanted_, id, this, [this, id](const PointEstimator::Cells& cells) {
    if (*wanted_ != id) return;
    for (const auto& [point, cell] : cells)
      if (!cells_[point].simulated()) cells_[point] = cell;
    emit changed();
  });
}

void SweepJob::finish_now() {
  ++*wanted_;
  LoadedInputs loaded;
  for (std::size_t i = 0; i < cells_.size(); ++i)
    if (cells_[i].state == CellState::Pending) cells_[i] = estimate_cell(plan_, i, loaded);
}

bool SweepJob::simulated() const {
  return std::all_of(cells_.begin(), cells_.end(), [](const SweepCell& cell) { return cell.simulated(); });
}

int SweepJob::done() const {
  return static_cast<int>(
      std::count_if(cells_.begin(), cells_.end(), [](const SweepCell& cell) { return cell.simulated(); }));
}

std::vector<std::size_t> SweepJob::missing(std::size_t axis) const {
  std::set<std::size_t> which;
  for (std::size_t i = 0; i < cells_.size(); ++i)
    if (!cells_[i].simulated()) which.insert(plan_.index(i, axis));
  return {which.begin(), which.end()};
}

// The child sweeps rectangles: all rows and columns in which something is missing.
void SweepJob::simulate(const QString& folder) {
  if (cells_.empty() || simulated()) return;
  QStringList arguments = {QStringLiteral("sweep"), QStringLiteral("-")};
  std::vector<std::string> sets = plan_.source.sets;
  for (std::size_t axis = 0; axis < plan_.axes.size(); ++axis) sets.push_back(set_of(plan_.axes[axis], missing(axis)));
  for (const std::string& set : sets) arguments << QStringLiteral("--set") << QString::fromStdString(set);
  arguments << QStringLiteral("--jsonl");
  child_.start({lockstep_program(), arguments, QByteArray::fromStdString(plan_.source.text), folder});
}

void SweepJob::take(const lockstep::Run& run) {
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    bool here = true;
    for (std::size_t axis = 0; axis < plan_.axes.size(); ++axis) {
      const auto at = run.point.find(plan_.axes[axis].key);
      // A list of one number of GPUs is no axis to the child.
      here = here && (at == run.point.end() ? missing(axis) == std::vector<std::size_t>{plan_.index(i, axis)}
                                            : at->second == plan_.axes[axis].names[plan_.index(i, axis)]);
    }
    if (!here) continue;
    cells_[i] = cell_of(run, false);
    emit changed();
    return;
  }
}

void SweepJob::pause() {
  ++*wanted_;
}

void SweepJob::stop() {
  child_.stop();
}

}  // namespace lockstep::gui
