// DistributedDataParallel: hooks copy gradients into buckets, complete buckets are reduced in strict order on the
// communication stream while backward goes on, the end of backward waits for them and copies out.
// Sources: torch/csrc/distributed/c10d/reducer.cpp, torch/nn/parallel/distributed.py (PyTorch 2.7).
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "simulator/base/ensure.h"
#include "simulator/collectives/ring.h"
#include "simulator/steps/buckets.h"
#include "simulator/strategies/input_copy.h"
#include "simulator/strategies/iteration.h"
#include "simulator/strategies/loader_wait.h"
#include "simulator/strategies/strategies.h"

namespace lockstep {
namespace {

// Host cost per op and parameter of the walk over the autograd graph with find_unused_parameters; prior, untested: a
// few pointer look-ups of C++ per node.
constexpr double kGraphWalkPerNode = 1e-6;
// However fast the network is, kernels of a CPU rank still advance; prior, the scheduler's share for one of ten
// threads.
constexpr double kMostOfCoresForGloo = 0.9;

// Gloo's threads live on the cores of their rank: a collective under way leaves it the rest of them.
double contention_of_cores(const StepContext& context, const Ring& ring) {
  if (ring.ranks == 1) return 1;
  const double busy_cores = context.ddp.gloo_cpu * ring_rate(ring);
  const double share = busy_cores / context.scenario.measure.threads_per_rank;
  return 1 / (1 - std::min(share, kMostOfCoresForGloo));
}

// What a step does about gradients; PyTorch's steps differ until buckets are rebuilt.
enum class Reduction {
  Overlapped,     // hooks launch buckets during backward
  AfterBackward,  // static_graph, first step: hooks only count, everything follows backward
};

class DdpBuilder {
 public:
  explicit DdpBuilder(const StepContext& context)
      : options_(context.scenario.ddp),
        ranks_(context.request.gpus),
        ring_(ring_of(context.topology, context.request.gpus)),
        phases_(bucket_phases(context.model, options_, torch_version(context.scenario), context.compute.autocast)),
        expected_wait_s_(expected_wait_s(context.request, context.ddp)) {
    graph_.keeps_labels = context.request.labels;
    graph_.launch_latency_s = context.host.launch_latency;
    graph_.contention = context.on_cores() ? contention_of_cores(context, ring_) : context.ddp.phi;
    graph_.host_computes = context.on_cores();
    for (const RankKind& kind : rank_kinds(context.request)) {
      PointRequest request = context.request;
      request.node = kind.node;
      if (kind.node == context.request.node)
        contexts_.push_back(context);
      else
        contexts_.emplace_back(request);
      graph_.classes.push_back({kind.first_rank, kind.ranks, request.folded});
    }
  }

  StepGraph build() {
    set_loader(graph_, contexts_.front());
    if (options_.static_graph) graph_.warm_up.push_back(step(phases_.initial, Reduction::AfterBackward, false));
    if (phases_.is_rebuilt) {
      graph_.warm_up.push_back(step(phases_.initial, Reduction::Overlapped, false));
      graph_.warm_up.push_back(step(phases_.rebuilt, Reduction::Overlapped, true));
    }
    graph_.steady = step(phases_.rebuilt, Reduction::Overlapped, false);
    return std::move(graph_);
  }

 private:
  // One optimizer step. `rebuilds`: buckets are rebuilt at the start of its forward.
  StepProgram step(const std::vector<Bucket>& buckets, Reduction reduction, bool rebuilds) {
    StepProgram step;
    step.programs.resize(contexts_.size());
    step.micro_steps = contexts_.front().request.micro_steps;
    for (const auto& bucket : buckets) step.bucket_bytes.push_back(bucket.bytes);
    for (class_ = 0; class_ < contexts_.size(); ++class_) add_program(step, buckets, reduction, rebuilds);
    return step;
  }

  // That of the class at hand.
  void add_program(StepProgram& step, const std::vector<Bucket>& buckets, Reduction reduction, bool rebuilds) {
    if (!graph_.warm_up.empty()) step.programs[class_].reserve(graph_.warm_up.back().programs[class_].size());
    ProgramBuilder program(graph_, step.programs[class_]);
    const RankView view;
    next_meeting_ = 0;
    add_start(program, context(), view);
    for (int micro = 0; micro < step.micro_steps; ++micro) {
      const bool last = micro + 1 == step.micro_steps;
      const bool synchronises = last || !context().scenario.accumulate_no_sync;
      // Under no_sync the following forward broadcasts no buffers; the step before ended with a synchronising backward.
      const bool broadcasts = micro == 0 || !context().scenario.accumulate_no_sync;
      add_loader_wait(program, context());
      add_input_copy(step, program);
      program.host(context().host.factor * context().ddp.wrapper, Cause::HostBound, "DDP forward");
      if (micro == 0 && rebuilds) add_rebuild(step, program);
      if (broadcasts) add_buffer_broadcast(step, program);
      add_forward(program, context(), view);
      add_graph_walk(program, synchronises);
      add_backward_pass(step, program, buckets, synchronises ? reduction : Reduction::AfterBackward, synchronises,
                        context().keeps_gradients || micro > 0);
    }
    add_optimizer(program, context(), view);
    add_expected_wait(program);
  }

  // Every class comes to the same meetings in the same order: the first one makes them.
  template <class Make>
  int meet(StepProgram& step, const Make& make) {
    if (next_meeting_ == static_cast<int>(step.meetings.size())) step.meetings.push_back(make());
    return next_meeting_++;
  }

  int add_meeting(StepProgram& step, const std::string& name, CollectiveOperation operation, std::int64_t bytes,
                  Cause cause, int bucket = -1) {
    return meet(step, [&] { return collective(name, operation, bytes, cause, bucket); });
  }

  Meeting collective(const std::string& name, CollectiveOperation operation, std::int64_t bytes, Cause cause,
                     int bucket) {
    Meeting meeting;
    meeting.name = name;
    meeting.on = ArriveOn::Communication;
    meeting.cause = cause;
    meeting.holds.assign(contexts_.size(), false);
    meeting.bucket = bucket;
    meeting.payload_bytes = bytes;
    put_plan(plan_collective(ring_, operation, bytes), ring_, meeting, graph_);
    return meeting;
  }

  void add_input_copy(StepProgram& step, ProgramBuilder& program) {
    if (const auto copy = input_copy(graph_, context()))
      arrive_at_input_copy(program, meet(step, [&] { return *copy; }), context());
  }

  // Rank 0's order of parameters goes to all: two small broadcasts, each waited for and read back by the host.
  void add_rebuild(StepProgram& step, ProgramBuilder& program) {
    if (ranks_ == 1) return;
    const auto parameters = static_cast<std::int64_t>(context().model.parameters.size());
    const auto buckets = static_cast<std::int64_t>(phases_.rebuilt.size());
    for (const std::int64_t entries : {parameters + 1, buckets}) {
      const int meeting = add_meeting(step, "bucket order", CollectiveOperation::Broadcast, 4 * entries, Cause::Other);
      program.arrive(meeting, ddp_call_s(), "broadcast bucket order");
      program.stream_wait(meeting);
      program.host_wait(meeting);
      program.host_sync();
    }
  }

  // Buffers of rank 0 to all before forward: per dtype one flat tensor, one broadcast, one copy back per buffer.
  void add_buffer_broadcast(StepProgram& step, ProgramBuilder& program) {
    if (!options_.broadcast_buffers) return;
    std::map<DType, std::pair<std::int64_t, int>> groups;  // bytes, tensors
    for (const auto& buffer : context().model.buffers) {
      groups[buffer.dtype].first += buffer.bytes();
      groups[buffer.dtype].second += 1;
    }
    for (const auto& [dtype, group] : groups) {
      const auto [bytes, tensors] = group;
      const double pass_s =
          2.0 * static_cast<double>(bytes) / (context().ddp.copy_efficiency * context().memory_bandwidth);
      program.kernel(context().host.c_b, kernel_own_s() + pass_s, Cause::BufferBroadcast, "flatten buffers");
      if (ranks_ > 1) {
        const int meeting =
            add_meeting(step, "buffer broadcast", CollectiveOperation::Broadcast, bytes, Cause::BufferBroadcast);
        program.arrive(meeting, ddp_call_s(), "ncclBroadcast buffers");
        program.stream_wait(meeting);
      }
      for (int tensor = 0; tensor < tensors; ++tensor)
        program.kernel(context().host.launch_call, kernel_own_s() + pass_s / tensors, Cause::BufferBroadcast,
                       "copy buffer");
    }
  }

  double kernel_own_s() const { return default_constants().op.launch; }

  void add_graph_walk(ProgramBuilder& program, bool synchronises) {
    if (!synchronises || !options_.find_unused_parameters || options_.static_graph) return;
    const auto nodes = static_cast<double>(context().model.ops.size() + context().model.parameters.size());
    program.host(context().host.factor * kGraphWalkPerNode * nodes, Cause::HostBound, "search unused parameters");
  }

  void add_backward_pass(StepProgram& step, ProgramBuilder& program, const std::vector<Bucket>& buckets,
                         Reduction reduction, bool synchronises, bool accumulates) {
    const RankView view;
    if (const OpCost* loss = loss_cost(context())) {
      add_loss(program, context(), *loss, view);
      add_loss_backward(program, *loss, view);
    }
    BucketState state(*this, step, program, buckets);
    if (synchronises && reduction == Reduction::Overlapped) {
      add_backward(program, context(), view, accumulates, [&state](ParameterId p) { state.copy_in(p); });
    } else {
      add_backward(program, context(), view, accumulates, {});
      if (!synchronises) return;
      launch_used_map(step, program);
      for (const auto& bucket : buckets)
        for (const auto parameter : bucket.parameters) state.copy_in(parameter);
    }
    const bool reduces_map = options_.find_unused_parameters && !options_.static_graph && ranks_ > 1;
    const int map = reduces_map ? launch_used_map(step, program) : -1;
    state.finish();
    if (reduces_map) program.stream_wait(map);
  }

  // One all-reduce of an int32 map with one entry per parameter, behind the buckets that were launched before.
  int launch_used_map(StepProgram& step, ProgramBuilder& program) {
    if (ranks_ == 1) return -1;
    const auto bytes = 4 * static_cast<std::int64_t>(context().model.parameters.size());
    const int meeting =
        add_meeting(step, "used parameters", CollectiveOperation::AllReduce, bytes, Cause::ExposedCommunication);
    program.arrive(meeting, ddp_call_s(), "ncclAllReduce used parameters");
    return meeting;
  }

  // Ranks are never quite equally fast; without drawn noise every step carries the expected wait for the slowest.
  void add_expected_wait(ProgramBuilder& program) {
    if (expected_wait_s_ <= 0) return;
    // On the host too: in a step that the host limits, it is hosts that differ, and an idle stream would hide the wait.
    program.kernel(0, expected_wait_s_, Cause::WaitForPeers, "expected wait for the slowest rank");
    if (graph_.host_computes) return;
    program.host(expected_wait_s_, Cause::WaitForPeers, "expected wait for the slowest rank");
  }
  static double expected_wait_s(const PointRequest& request, const DdpCosts& costs) {
    const Noise& noise = request.scenario->noise;
    if (noise.none || noise.jitter || request.gpus == 1) return 0;
    return straggler_wait_seconds(request.single_step_s, request.gpus, costs);
  }

  // The reducer during one backward pass.
  class BucketState {
   public:
    BucketState(DdpBuilder& builder, StepProgram& step, ProgramBuilder& program, const std::vector<Bucket>& buckets)
        : builder_(builder),
          step_(step),
          program_(program),
          buckets_(buckets),
          bucket_of_(builder.context().model.parameters.size()) {
      for (std::size_t b = 0; b < buckets.size(); ++b) {
        pending_.push_back(buckets[b].parameters.size());
        for (const auto p : buckets[b].parameters) bucket_of_[static_cast<std::size_t>(p)] = b;
      }
    }

    // The averaging division is fused into this copy.
    void copy_in(ParameterId id) {
      copy(id, builder_.context().host.c_b, "copy to bucket");
      const std::size_t bucket = bucket_of_[static_cast<std::size_t>(id)];
      if (--pending_[bucket] > 0) return;
      while (next_ < buckets_.size() && pending_[next_] == 0) launch(next_++);
    }

    // Waits in bucket order, each followed by its copies out.
    void finish() {
      LOCKSTEP_ENSURE(next_ == buckets_.size(), "{} of {} buckets launched", next_, buckets_.size());
      for (std::size_t b = 0; b < buckets_.size(); ++b) {
        if (builder_.ranks_ > 1) program_.stream_wait(meetings_[b]);
        if (builder_.options_.gradient_as_bucket_view) continue;
        for (const auto id : buckets_[b].parameters) copy(id, builder_.context().host.launch_call, "copy from bucket");
      }
    }

   private:
    void copy(ParameterId id, double host_s, const char* label) {
      const StepContext& context = builder_.context();
      const Parameter& parameter = context.model.parameter(id);
      program_.kernel(host_s, bucket_copy_seconds(parameter.bytes(), 1, context.memory_bandwidth, context.ddp),
                      Cause::BucketCopies,
                      program_.keeps_labels() ? fmt::format("{} {}", label, parameter.name) : std::string());
    }

    void launch(std::size_t bucket) {
      if (builder_.ranks_ == 1) return;
      const std::string name = fmt::format("all-reduce bucket {}", bucket);
      const int meeting = builder_.add_meeting(step_, name, CollectiveOperation::AllReduce, buckets_[bucket].bytes,
                                               Cause::ExposedCommunication, static_cast<int>(bucket));
      meetings_.push_back(meeting);
      const double call_s = builder_.ddp_call_s();
      const double stream_s = builder_.graph_.host_computes ? 0 : builder_.context().ddp.c_bucket;
      program_.kernel(call_s, stream_s, Cause::BucketCopies, "launch bucket");
      program_.arrive(meeting, 0, fmt::format("ncclAllReduce bucket {}", bucket));
    }

    DdpBuilder& builder_;
    StepProgram& step_;
    ProgramBuilder& program_;
    const std::vector<Bucket>& buckets_;
    std::vector<std::size_t> bucket_of_;  // [parameter]
    std::vector<std::size_t> pending_;    // [bucket]
    std::vector<int> meetings_;           // [bucket]
    std::size_t next_ = 0;
  };

  // Host time of one all_reduce call: the same measurement as its time on the compute stream.
  double ddp_call_s() const { return context().ddp.c_bucket * context().host.factor; }

  const StepContext& context() const { return contexts_[class_]; }

  std::vector<StepContext> contexts_;  // [class]
  std::size_t class_ = 0;              // whose program is being built
  int next_meeting_ = 0;               // of that program
  const DdpOptions& options_;
  int ranks_;
  Ring ring_;
  BucketPhases phases_;
  double expected_wait_s_;  // of every step
  StepGraph graph_;
};

}  // namespace

StepGraph build_ddp(const StepContext& context) {
  return DdpBuilder(context).build();
}

}  // namespace lockstep
