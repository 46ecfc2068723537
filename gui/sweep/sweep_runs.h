// What the two sweeps of the window show: DDP over its bucket cap, and a map over two keys. They are estimated after
// the scenario itself, and simulated after it, once somebody looks. No widgets.
#pragma once

#include <QObject>
#include <QTimer>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/document/scenario_document.h"
#include "gui/runs/session.h"
#include "gui/sweep/bucket_curve.h"
#include "gui/sweep/sweep_axis.h"
#include "gui/sweep/sweep_grid.h"
#include "gui/sweep/sweep_job.h"

namespace lockstep::gui {

enum class SweepKind { Curve, Map };

class SweepRuns : public QObject {
  Q_OBJECT

 public:
  SweepRuns(ScenarioDocument& document, Session& session, QObject* parent = nullptr);
  ~SweepRuns() override;

  // Simulated as long as somebody wants it; estimated always.
  void want(SweepKind kind, bool on);
  void stop();               // simulations, until the scenario or the axes change
  void run(SweepKind kind);  // after a stop or a failure
  bool running() const { return curve_.running() || map_.running(); }
  // Plans, estimates and simulates both to the end, waiting for the session where it is at work; `then` is called once,
  // perhaps before this returns. A stop or a failure is an end too.
  void finish(std::function<void()> then);

  // Across (0) and up (1). Errors leave the map as it is.
  Errors set_axis(std::size_t axis, const std::string& key, const std::string& values);
  void choose_key(std::size_t axis, const std::string& key);  // with the values around the present one
  void set_strategy(Strategy strategy);
  AxisContext context() const;
  bool lists_values() const { return lists_values_; }  // the file is a sweep by itself

  // To the scenario, as one step that can be undone.
  Errors apply_cap(const BucketPoint& point);
  Errors apply_cell(std::size_t cell);

 signals:
  void changed();  // session.shown() has another curve or map
  void running_changed();

 private:
  struct Part {
    SweepJob* job;
    bool wanted = false, tried = false, asked = false;
    QString missing, failure;
  };

  void scenario_changed();
  void consider();
  bool can_plan() const;
  bool is_seen() const;
  void replan();
  void plan_curve(const ScenarioText& source);
  void plan_map(const ScenarioText& source);
  void choose_axes(const std::vector<PlanAxis>& listed);
  void advance();
  void publish();
  std::shared_ptr<const BucketCurve> curve() const;
  std::shared_ptr<const SweepGrid> map() const;
  Part& part(SweepKind kind) { return parts_[static_cast<std::size_t>(kind)]; }
  const Part& part(SweepKind kind) const { return parts_[static_cast<std::size_t>(kind)]; }

  ScenarioDocument& document_;
  Session& session_;
  PointEstimator estimator_;
  SweepJob curve_, map_;
  std::array<Part, 2> parts_{{{&curve_, false, false, false, {}, {}}, {&map_, false, false, false, {}, {}}}};
  std::vector<PlanAxis> axes_;  // empty: to be chosen
  bool axes_by_hand_ = false, stale_ = false, lists_values_ = false, was_running_ = false;
  std::optional<Strategy> strategy_;
  std::string planned_text_, wrong_text_, axes_machine_;
  std::optional<ReadScenario> base_;  // of a file that lists values: with the first of each
  QString note_;
  QTimer late_, quiet_, publish_;
  std::function<void()> then_;
};

}  // namespace lockstep::gui
