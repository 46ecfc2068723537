// What a part of the window shows of a result. The window hands every view the same Shown; a view draws it, tells its
// numbers as a table and its message as a sentence, and paints itself into a picture. Timeline and topology are views
// of their own.
#pragma once

#include <QRectF>
#include <QString>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gui/charts/data_table.h"
#include "simulator/exchange/trace_runs.h"
#include "simulator/result/result.h"
#include "topologies/topology.h"

class QPainter;
class QWidget;

namespace lockstep::gui {

struct MeasuredResult {
  QString name;  // of its file
  std::shared_ptr<const Result> result;
};

struct BucketCurve;  // gui/sweep/bucket_curve.h
struct SweepGrid;    // gui/sweep/sweep_grid.h

struct Shown {
  std::shared_ptr<const Result> result;      // the newest prediction; nullptr where there is none
  std::shared_ptr<const Topology> topology;  // the machine of the scenario; nullptr where there is none
  bool estimated = false;                    // without contention, no bands; the simulation follows
  bool stale = false;                        // the scenario is another one by now
  std::vector<MeasuredResult> measured;
  std::shared_ptr<const Result> baseline;  // pinned; nullptr where nothing is
  QString baseline_name;                   // of the scenario that was open then
  bool baseline_estimated = false;         // pinned before it was simulated
  std::shared_ptr<const BucketCurve> bucket_curve, baseline_curve;
  std::shared_ptr<const SweepGrid> sweep;
  bool spans_estimated = false;  // the timelines are the estimate's, without contention
  TraceFiles traces;             // that were opened
};

// A part of a run's step, to be found in the timeline: the spans of a cause, or all collectives or copies.
struct Focus {
  Strategy strategy = Strategy::Single;
  int gpus = 1;
  std::optional<Cause> cause;
  bool collectives = false, copies = false;
  bool operator==(const Focus&) const = default;
};

// What stands beside a prediction, shortly: "measured", "prediction", with a number where there are several.
QString loaded_name(const Shown& shown, std::size_t index);
// With its file: "measured 2: b.json".
QString loaded_title(const Shown& shown, std::size_t index);

class View {
 public:
  virtual ~View() = default;
  virtual QString id() const = 0;     // of its files: "efficiency"
  virtual QString title() const = 0;  // for people: "Efficiency"
  virtual QWidget* widget() = 0;      // owned by the view until it has a parent
  virtual void show_result(const Shown& shown) = 0;
  virtual DataTable table() const = 0;
  virtual QString description() const = 0;                          // the message as a sentence, for screen readers
  virtual void paint(QPainter& painter, const QRectF& target) = 0;  // for export, whatever size the widget has
  virtual void theme_changed() = 0;
  virtual bool shows_details() const { return false; }  // timelines, parts of causes: they come later than the rest

  // Set by the window; a view calls it when somebody asks where in the timeline a part of it is.
  std::function<void(const Focus&)> focus_asked;
};

// The runs of a result that ran, in its order.
std::vector<const Run*> runs_of(const Result& result);

}  // namespace lockstep::gui
