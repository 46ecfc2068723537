// What must hold for a step graph and a recorded run of it. Each check returns what is wrong in words, or nothing, so
// that the same checks serve the laws (nothing must be wrong) and the seeded bugs (something must be).
#pragma once

#include <string>

#include "simulator/steps/replay.h"
#include "tests/laws/support/points.h"

namespace lockstep::testing {

// A run to look at: the graph, what a driver recorded of it, and one rank in one step with its timeline.
struct Watched {
  const StepGraph& graph;
  const StepRecord& record;
  int rank = 0;
  int step = 0;
  Replay replay;
};
Watched watch(const StepGraph& graph, const StepRecord& record, int rank, int step, const JitterSource& jitter = {});

// --- of every strategy ---
std::string breakdown_is_whole(const Watched& run);
std::string lanes_do_one_thing_at_a_time(const Watched& run);
// Hidden communication is at most all of it, and at most what ran beside kernels of the timeline or while the GPU had
// to wait for its host anyway.
std::string hidden_communication_is_beside_work(const Watched& run);
// The contention part of the breakdown is (1 - 1/phi) of the time that kernels ran beside a collective.
std::string contention_is_paid(const Watched& run, double phi);
// Flows of one step move no more bytes over a link than its rate allows in the time between first and last of them.
std::string links_keep_their_rate(const Watched& run);

// --- of DDP ---
// Bytes, number and order of the buckets that the graph reduces, against PyTorch's rule for this model.
std::string buckets_are_those_of_the_rule(const StepGraph& graph, const TestPoint& point);
std::string buckets_start_in_order(const Watched& run);
// Each bucket takes alpha + bytes / rate of its plan, since nothing shares the ring.
std::string buckets_take_their_plan(const Watched& run, const TestPoint& point);
std::string buckets_keep_the_ring_bound(const Watched& run, const TestPoint& point);
// A bucket moves when all of its copies in are done; the optimizer starts when the last is copied out.
std::string buckets_follow_their_gradients(const Watched& run, const TestPoint& point);
std::string optimizer_follows_the_buckets(const Watched& run);

// --- of DataParallel ---
// No gradient is reduced before the last backward kernel of every rank.
std::string reduce_follows_backward(const StepGraph& graph, const StepRecord& record, int step);

// --- of the launch queue ---
// When one rank without meetings launched its kernels and when they started, walked step by step. `forgets`: the queue
// is emptied before each step (a seeded bug).
struct Launch {
  double launched, started;
};
std::vector<Launch> launches_of(const StepGraph& graph, int steps, bool forgets = false);
std::string host_is_at_most_the_queue_ahead(const std::vector<Launch>& launches);

}  // namespace lockstep::testing
