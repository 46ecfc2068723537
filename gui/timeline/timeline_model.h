// The timelines of all that is shown, ready to be drawn: a group for each run and kind of ranks, in it lanes of spans.
// Predicted and measured runs of one strategy and number of GPUs stand below each other on one axis. Seconds from the
// start of the shown step on the GPU.
#pragma once

#include <QColor>
#include <QString>
#include <array>
#include <string>
#include <vector>

#include "gui/charts/device_words.h"
#include "gui/charts/view.h"
#include "gui/timeline/time_window.h"

namespace lockstep::gui {

struct TimelineLane {
  enum class Kind { Cpu, Compute, Copy, Communication, Phases };
  Kind kind = Kind::Compute;
  int row = 0;  // 0, and 1, 2 where spans of the lane overlap
  std::vector<LaneSpan> spans;
};

// Stored: a prediction that was read from a trace.
enum class TimelineOrigin { Predicted, Pinned, Measured, Stored };

struct TimelineGroup {
  QString title;  // DDP x8
  QString ranks;  // ranks 0 to 7
  int first_rank = 0;
  int folded = 1;  // so many ranks are alike
  TimelineOrigin origin = TimelineOrigin::Predicted;
  Strategy strategy = Strategy::Single;
  int gpus = 1;
  double step_s = 0;
  double spans_step_s = 0;                    // the step that the spans are of, where it differs from step_s; else 0
  bool spans_estimated = false;               // without contention; else one step of many that differ
  std::array<double, kCauseCount> parts_s{};  // of the step, by cause, as the bars show them; 0 in a trace
  std::vector<BucketTimes> buckets;
  std::vector<TimelineLane> lanes;
  QString note;  // which part of its trace it is
  // Of a measured or pinned group: the prediction it stands below; -1: none.
  int beside = -1;
};

struct Timeline {
  std::vector<TimelineGroup> groups;
  Devices devices = Devices::Gpus;
  std::vector<std::string> names;  // of spans
  double from_s = 0, to_s = 0;     // all of it
  double step_s = 0;               // the longest step
  std::size_t spans = 0;
  bool empty() const { return groups.empty(); }
  const std::string& name_of(const LaneSpan& span) const { return names[static_cast<std::size_t>(span.name)]; }
};

// Of a prediction the runs that have a timeline, and the ranks of each. Of a measurement without spans the parts of a
// step in their order (as long as they were, not when they were) and the buckets when they were. Of the opened traces
// the ranks of each run in `traced`.
Timeline timeline_of(const Shown& shown, const std::vector<TracedRun>& traced = {});

// Whether a focus means spans of this cause in such a lane. What a GPU waits for is shown by the collectives.
bool in_focus(const Focus& focus, TimelineLane::Kind kind, Cause cause);
// Whether it means this group; `any_gpus`: of whatever number.
bool in_focus(const Focus& focus, const TimelineGroup& group, bool any_gpus);

// How many ranks "0-7" or "3" are.
int ranks_in(const std::string& ranks);

QString lane_name(TimelineLane::Kind kind, Devices devices);
// What a cause is called in a lane: what the CPU launches is work there, and a collective may be hidden.
QString cause_name_in(TimelineLane::Kind kind, Cause cause, Devices devices);
QColor span_colour(TimelineLane::Kind kind, Cause cause);

// What stands in the span of a bucket: "bucket 0, 8.2 MB"; where a trace does not tell sizes "all-reduce" alone,
// because which bucket a collective of unknown size reduces is not known either.
QString bucket_words(const LaneSpan& span, Devices devices);

// The bucket that a collective reduces; -1 for other spans.
int bucket_of_span(const Span& span, const std::vector<BucketTimes>& buckets);

}  // namespace lockstep::gui
