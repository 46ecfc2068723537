// Who broke a launch: from the states of its ranks one cause and one sentence. Pure; the launcher (launcher.h) fills
// the states in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwrunner/launch/plan.h"
#include "hwrunner/launch/record.h"

namespace lockstep {

enum class Phase { Started, Building, Joining, Joined, Stepping, Done };

struct LaunchedRankState {
  Phase phase = Phase::Started;
  int steps_done = 0;
  std::optional<ErrorRecord> error;  // what it said about its end
  std::string garbage;               // a line that is no record
  std::string last_words;            // the end of what it wrote to standard output and standard error

  enum class End { Running, Exited, Signalled } end = End::Running;
  int status = 0;      // exit code or signal
  double ended_s = 0;  // on the launcher's clock
  bool killed_by_us = false;
  bool stopped = false;  // by a signal such as SIGSTOP, and not continued
  int stop_signal = 0;
  std::string host;  // named where a launch has ranks on several; empty: not

  // Ended as it should, or still on its way.
  bool clean() const { return end == End::Exited && status == 0 && phase == Phase::Done; }
};

struct LaunchFailure {
  int rank = 0;                           // the first of those to blame
  bool refused = false;                   // it cannot do what the plan asks for: nothing broke
  std::string sentence;                   // "rank 1 was killed by signal 9 during step 10 of repeat 2 (ddp, 2 ranks)"
  std::string hint;                       // one thing to try, or empty
  std::vector<std::string> consequences;  // what happened to others because of it, a sentence each
};

// A rank ended in a way that is not clean, or wrote garbage.
bool has_failed(const LaunchedRankState& rank);

// The cause, when something failed or `too_silent` says that the patience with those running is at its end. In this
// order: a rank that a signal killed or that ended by a fault of its own (the earliest); garbage; one that is stopped;
// where others waited in vain, those that are still running and furthest behind; the earliest loss of a connection.
std::optional<LaunchFailure> blame(const RunPlan& plan, const std::vector<LaunchedRankState>& ranks, bool too_silent);

// "step 10 of repeat 2", "warm-up step 1 of repeat 1", "step 3 of the instrumented pass": what a rank is at.
std::string place_of(const RunPlan& plan, const LaunchedRankState& rank);

}  // namespace lockstep
