// The points of one plan: estimated in a thread, then simulated by `lockstep sweep` as a child. Points that another
// plan shares with this one are kept. No widgets.
#pragma once

#include <QObject>
#include <QThread>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gui/runs/child_run.h"
#include "gui/sweep/sweep_plan.h"

namespace lockstep::gui {

// Estimates points one after the other in a thread of its own, which gives way to everything else.
class PointEstimator {
 public:
  PointEstimator();
  ~PointEstimator();
  PointEstimator(const PointEstimator&) = delete;
  PointEstimator& operator=(const PointEstimator&) = delete;

  using Cells = std::vector<std::pair<std::size_t, SweepCell>>;
  // As long as `*wanted` is `id`; `deliver` is called in the thread of `receiver`, with some points at a time.
  void request(const SweepPlan& plan, std::vector<std::size_t> points, std::shared_ptr<std::atomic<quint64>> wanted,
               quint64 id, QObject* receiver, std::function<void(const Cells&)> deliver);
  // Files may have changed: read them again.
  void forget_files() { forget_ = true; }
  void stop();  // for good; whoever still receives must live until then

 private:
  QThread thread_;
  QObject worker_;
  std::atomic<bool> forget_{false}, stopped_{false};
  std::unique_ptr<LoadedInputs> loaded_;  // of the thread
};

class SweepJob : public QObject {
  Q_OBJECT

 public:
  explicit SweepJob(PointEstimator& estimator, QObject* parent = nullptr);
  ~SweepJob() override;

  // Ends what ran for the last plan, keeps the points that both have, and estimates the rest.
  void set_plan(SweepPlan plan);
  void clear();
  // Every point that is only estimated. `folder`: where relative paths start.
  void simulate(const QString& folder);
  void stop();        // the child; what is pending is estimated all the same
  void pause();       // the estimates: something more urgent is estimated
  void finish_now();  // what is pending is estimated before this returns

  const SweepPlan& plan() const { return plan_; }
  const std::vector<SweepCell>& cells() const { return cells_; }
  bool running() const { return child_.running(); }
  bool simulated() const;  // every point
  int done() const;        // simulated points

 signals:
  void changed();  // some points
  void ended();    // the child, all points known
  void failed(const QString& why, const QString& last_words);

 private:
  void estimate();
  void take(const lockstep::Run& run);
  std::vector<std::size_t> missing(std::size_t axis) const;  // values of an axis with points that are not simulated

  PointEstimator& estimator_;
  ChildRun child_;
  SweepPlan plan_;
  std::vector<SweepCell> cells_;
  std::shared_ptr<std::atomic<quint64>> wanted_ = std::make_shared<std::atomic<quint64>>(0);
};

}  // namespace lockstep::gui
