// From the traces of one or more ranks to runs with timelines: which strategy on how many GPUs, which rank, one step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/exchange/chrome_trace_reader.h"

namespace lockstep {

using TraceFiles = std::vector<std::shared_ptr<const TraceFile>>;

struct TracedRun {
  // Strategy, gpus, step_time_s (of the rank whose step is longest), its timeline and those of the others, collectives
  // as buckets; nothing else. Times from the start of each rank's own step.
  Run run;
  std::vector<double> other_steps_s;  // of run.other_timelines: each rank's own step
  std::optional<std::int64_t> step;   // of ProfilerStep#n; unset: the whole trace
  bool predicted = false;
  bool beginning = false;  // of a trace without steps that has more than kMostWholeSpans
};
// Of a trace without marked steps this much is shown.
inline constexpr std::size_t kMostWholeSpans = 300'000;

// The steps that any of the traces marks, ascending.
std::vector<std::int64_t> steps_of(const TraceFiles& files);

// Traces of one strategy and number of GPUs are one run; of a rank that is there twice the later file counts. Where
// `step` is not among a trace's steps, or not given, its step of median length is taken. What a trace does not say
// comes from its name, as lockstep measure gives it (t-ddp-2.json); several GPUs in one process are DataParallel; a
// trace without a hint is of one GPU.
std::vector<TracedRun> runs_of_traces(const TraceFiles& files, std::optional<std::int64_t> step = std::nullopt);

}  // namespace lockstep
