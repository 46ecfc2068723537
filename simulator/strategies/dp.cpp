// torch.nn.DataParallel: one process, one Python thread of which everything depends. Each step scatters the batch from
// GPU 0, copies the model to all GPUs, runs the forward passes under the interpreter lock, gathers outputs on GPU 0,
// and after all of backward reduces all gradients to GPU 0, where the optimizer runs.
//
// Two classes of ranks: GPU 0 and the others. The one host thread is repeated in each program with the same times; host
// meetings of no duration keep the copies together where GPU 0 holds the host up.
// Sources: torch/nn/parallel/{data_parallel,replicate,parallel_apply,scatter_gather,comm}.py (PyTorch 2.7); form and
// constants of the host's time: docs/cost-models.md, section "host".
#include <fmt/format.h>

#include <algorithm>

#include "simulator/collectives/ring.h"
#include "simulator/strategies/input_copy.h"
#include "simulator/strategies/iteration.h"
#include "simulator/strategies/loader_wait.h"
#include "simulator/strategies/strategies.h"

namespace lockstep {
namespace {

constexpr std::int64_t kCoalescedGroupBytes = 10485760;  // of broadcast and reduce (torch/nn/parallel/comm.py)

class DpBuilder {
 public:
  explicit DpBuilder(const StepContext& context)
      : context_(context),
        host_(context.host),
        gpus_(context.request.gpus),
        ring_(ring_of(context.topology, context.request.gpus)),
        counts_(host_counts(context.model)) {
    // The stand-in on cores has no interpreter whose lock its threads would share.
    for (int rank = 0; rank < 2 && !context.on_cores(); ++rank) {
      views_[rank].forward_factor = forward_lock_factor(gpus_, host_);
      views_[rank].backward_factor = backward_thread_factor(gpus_, host_);
    }
  }

  StepGraph build() {
    graph_.keeps_labels = context_.request.labels;
    graph_.launch_latency_s = host_.launch_latency;
    graph_.contention = context_.ddp.phi;
    graph_.host_computes = context_.on_cores();
    graph_.classes = {{0, 1, false}, {1, gpus_ - 1, context_.request.folded}};
    set_loader(graph_, context_);
    step_.micro_steps = context_.request.micro_steps;
    step_.programs.resize(2);
    ProgramBuilder first(graph_, step_.programs[0]);
    ProgramBuilder others(graph_, step_.programs[1]);
    programs_ = {&first, &others};
    host_meeting("iteration", Cause::HostBound);
    add_start(first, context_, views_[0]);
    add_start(others, context_, mirror());
    for (int micro = 0; micro < step_.micro_steps; ++micro) add_round(micro);
    add_optimizer(first, context_, views_[0]);
    add_optimizer(others, context_, mirror());
    graph_.steady = std::move(step_);
    return std::move(graph_);
  }

 private:
  void add_round(int micro) {
    if (context_.scenario.loader.active()) take_batch();
    if (context_.scenario.input.source == InputSource::Host) copy_batch();
    scatter_on_device();
    replicate();
    for (int c = 0; c < 2; ++c) add_forward(*programs_[c], context_, views_[c]);
    const OpCost loss = loss_of_whole_batch();
    gather_and_loss(loss);
    for (int c = 0; c < 2; ++c) add_backward(*programs_[c], context_, views_[c], false, {});
    reduce_gradients(context_.keeps_gradients || micro > 0);
  }

  RankView mirror() const {
    RankView view = views_[1];
    view.mirrors_only = true;
    return view;
  }

  Meeting& new_meeting(const std::string& name, ArriveOn on, Cause cause, std::vector<bool> holds) {
    Meeting meeting;
    meeting.name = name;
    meeting.on = on;
    meeting.cause = meeting.wait_cause = cause;
    meeting.holds = std::move(holds);
    step_.meetings.push_back(meeting);
    return step_.meetings.back();
  }
  int last_meeting() const { return static_cast<int>(step_.meetings.size()) - 1; }
  void all_arrive(double host_s, std::string_view label) {
    for (auto* program : programs_) program->arrive(last_meeting(), host_s, label);
  }
  void host_meeting(const std::string& name, Cause cause) {
    new_meeting(name, ArriveOn::Host, cause, {true, true});
    all_arrive(0, name);
  }
  void both_host(double host_s, Cause cause, std::string_view label) {
    for (auto* program : programs_) program->host(host_s, cause, label);
  }
  void host_cause(Cause cause) {
    for (auto* program : programs_) program->set_host_cause(cause);
  }

  // --- the batch ---
  // The one process takes it once; both programs do so at the same date.
  void take_batch() {
    host_meeting("next batch", Cause::HostBound);
    for (auto* program : programs_) add_loader_wait(*program, context_);
  }

  std::int64_t batch_bytes_of(std::int64_t gpus) const {
    return batch_bytes(context_.model, context_.request.per_gpu_batch * gpus, context_.scenario.input.dtype);
  }

  void copy_batch() {
    const bool queued = copy_mode(context_.scenario.input) == CopyMode::Queued;
    if (context_.scenario.input.dp_copy == DpCopy::Device0) {
      if (queued) {
        queue_copies({0}, batch_bytes_of(gpus_), Cause::CopyToDevice);
      } else {
        copy_now(0, batch_bytes_of(gpus_), Cause::CopyToDevice);
      }
    } else if (queued) {
      std::vector<int> all;
      for (int gpu = 0; gpu < graph_.simulated_ranks(); ++gpu) all.push_back(gpu);
      queue_copies(all, batch_bytes_of(1), Cause::Scatter);
    } else {
      // One host thread copies piece after piece, each over its own GPU's links.
      for (int gpu = 0; gpu < gpus_; ++gpu) copy_now(gpu, batch_bytes_of(1), Cause::Scatter);
    }
  }

  // The host waits for the copy; for a copy to GPU 0 also for what GPU 0 had to do before.
  void copy_now(int gpu, std::int64_t bytes, Cause cause) {
    const auto route = host_copy_route(graph_, context_, 0, context_.topology.gpu_in_node(gpu));
    if (route.empty()) return;
    if (gpu == 0) {
      programs_[0]->host_sync();
      host_meeting("GPU 0 is done", Cause::HostBound);  // it held up the one host thread
    }
    Meeting& copy = new_meeting(fmt::format("batch to GPU {}", gpu), ArriveOn::Host, cause, {true, true});
    copy.payload_bytes = copy.flow_bytes = bytes;
    copy.alpha_s = host_copy_fixed_s(context_, bytes);
    copy.routes = {route};
    copy.receiver = gpu;
    all_arrive(host_.c_f, copy.name);
  }

  // Copies that wait in the streams of the receiving GPUs (the first, or all of them), all at once.
  void queue_copies(const std::vector<int>& gpus, std::int64_t bytes, Cause cause) {
    std::vector<std::vector<std::int32_t>> routes;
    for (const int gpu : gpus)
      routes.push_back(host_copy_route(graph_, context_, 0, context_.topology.gpu_in_node(gpu)));
    if (routes[0].empty()) return;
    const bool to_all = gpus.size() > 1;
    Meeting& copy = new_meeting("batch to GPU", ArriveOn::Stream, cause, {true, true});
    copy.own = to_all;
    copy.payload_bytes = copy.flow_bytes = bytes;
    copy.routes = routes;
    programs_[0]->arrive(last_meeting(), host_.c_f * static_cast<double>(gpus.size()), copy.name);
    if (to_all) {
      programs_[1]->arrive(last_meeting(), host_.c_f * static_cast<double>(gpus.size()), copy.name);
    } else {
      programs_[1]->host(host_.c_f, cause, copy.name);
    }
  }

  // Pieces of a batch that lies on GPU 0 go to the other GPUs.
  void scatter_on_device() {
    const InputOptions& input = context_.scenario.input;
    if (input.source == InputSource::Host && input.dp_copy == DpCopy::Scatter) return;
    new_meeting("scatter", ArriveOn::Stream, Cause::Scatter, {true, true});
    peer_transfer(batch_bytes_of(gpus_ - 1), true);
    host_cause(Cause::Scatter);
    all_arrive(host_.c_f, "scatter");
  }

  // Bytes between GPU 0 and all others over GPU 0's links.
  void peer_transfer(std::int64_t bytes, bool out) {
    Meeting& meeting = step_.meetings.back();
    meeting.payload_bytes = meeting.flow_bytes = bytes;
    std::vector<std::int32_t> route;
    const int first = context_.topology.gpu_in_node(0);
    const int second = context_.topology.gpu_in_node(1);
    for (const auto& link :
         out ? peer_path(context_.topology, 0, first, second) : peer_path(context_.topology, 0, second, first)) {
      const auto index = add_link(graph_, link);
      if (std::find(route.begin(), route.end(), index) == route.end()) route.push_back(index);
    }
    if (route.empty()) meeting.flow_bytes = 0;
    meeting.routes = {route};
  }

  // --- the model to all GPUs, each forward ---
  void replicate() {
    const double tensors = counts_.parameter_tensors + counts_.buffer_tensors;
    const double n = gpus_;
    const double host_s = host_.t_dp + n * host_.t_thr + counts_.modules * (host_.m0 + host_.m1 * n) +
                          tensors * (host_.b0 + host_.b1 * n);
    host_cause(Cause::Replicate);
    const std::int64_t bytes = parameter_bytes(context_.model);
    if (graph_.host_computes) return copy_to_replicas();
    const double flatten_s = 2.0 * static_cast<double>(bytes) / device_copy_rate();
    programs_[0]->kernel(host_.t_flatten, flatten_s, Cause::Replicate, "flatten parameters");
    programs_[1]->host(host_.t_flatten, Cause::Replicate, "flatten parameters");
    broadcast("broadcast parameters", bytes);
    if (!context_.model.buffers.empty()) broadcast("broadcast buffers", buffer_bytes(context_.model));
    both_host(std::max(0.0, host_s - host_.t_flatten), Cause::Replicate, "replicate modules");
    host_cause(Cause::HostBound);
  }

  // On cores the replicas lie in one memory: the one thread copies from tensor to tensor, and sums so later.
  void copy_to_replicas() {
    const std::int64_t bytes = parameter_bytes(context_.model) + buffer_bytes(context_.model);
    by_first_thread(bytes, 2, Cause::Replicate, "copy parameters to replicas");
    host_cause(Cause::HostBound);
  }

  // A pass of rank 0's thread over `bytes` of each other replica, that `touches` memory so often for each; all wait.
  void by_first_thread(std::int64_t bytes, int touches, Cause cause, const std::string& name) {
    const double all = static_cast<double>(touches) * (gpus_ - 1) * static_cast<double>(bytes);
    programs_[0]->kernel(0, all / device_copy_rate(), cause, name);
    new_meeting(name, ArriveOn::Stream, cause, {true, true});
    all_arrive(0, name);
  }

  void broadcast(const std::string& name, std::int64_t bytes) {
    Meeting& meeting = new_meeting(name, ArriveOn::Stream, Cause::Replicate, {true, true});
    meeting.payload_bytes = bytes;
    put_plan(plan_collective(ring_, CollectiveOperation::Broadcast, bytes, gpus_), ring_, meeting, graph_);
    all_arrive(0, name);
  }

  double device_copy_rate() const { return context_.ddp.copy_efficiency * context_.memory_bandwidth; }

  // --- outputs to GPU 0, loss, gradients of outputs back ---
  OpCost loss_of_whole_batch() const {
    const ComputeContext whole = compute_context(context_.request, context_.request.per_gpu_batch * gpus_);
    for (std::size_t i = 0; i < context_.model.ops.size(); ++i)
      if (context_.is_loss(static_cast<OpId>(i))) return op_cost(context_.model, static_cast<OpId>(i), whole);
    return {};
  }

  void gather_and_loss(const OpCost& loss) {
    const std::int64_t out = context_.output_bytes();
    host_cause(Cause::Gather);
    new_meeting("gather", ArriveOn::Stream, Cause::Gather, {true, false});
    peer_transfer(out * (gpus_ - 1), false);
    all_arrive(host_.t_gat + host_.t_gat_n * gpus_, "gather");
    const double concatenation_s = 2.0 * static_cast<double>(out * gpus_) / device_copy_rate();
    programs_[0]->kernel(0, concatenation_s, Cause::Gather, "concatenate outputs");
    host_cause(Cause::HostBound);
    add_loss(*programs_[0], context_, loss, views_[0]);
    add_loss(*programs_[1], context_, loss, mirror());
    add_loss_backward(*programs_[0], loss, views_[0]);
    new_meeting("gradients of outputs", ArriveOn::Stream, Cause::Gather, {true, true});
    peer_transfer(out * (gpus_ - 1), true);
    all_arrive(0, "scatter gradients of outputs");
  }

  // --- gradients to GPU 0: one autograd node, after the last backward op of every replica was issued ---
  void reduce_gradients(bool accumulates) {
    host_cause(Cause::GradientReduce);
    const double parameters = counts_.parameter_tensors;
    const std::int64_t bytes = parameter_bytes(context_.model);
    if (graph_.host_computes) {
      by_first_thread(bytes, 3, Cause::GradientReduce, "add gradients of replicas");
    } else {
      both_host(parameters * host_.c_r * (1 + gpus_), Cause::GradientReduce, "reduce gradients");
      const double flatten_s = 2.0 * static_cast<double>(bytes_in_groups()) / device_copy_rate();
      for (auto* program : programs_) program->kernel(0, flatten_s, Cause::GradientReduce, "flatten gradients");
      Meeting& meeting = new_meeting("reduce gradients", ArriveOn::Stream, Cause::GradientReduce, {true, true});
      meeting.payload_bytes = bytes;
      put_plan(plan_collective(ring_, CollectiveOperation::Reduce, bytes, gpus_), ring_, meeting, graph_);
      all_arrive(0, "ncclReduce gradients");
    }
    if (!accumulates) return;
    for (const auto& parameter : context_.model.parameters) {
      if (!parameter.used) continue;
      const auto kernel = accumulate_kernel(parameter, context_.compute, host_);
      programs_[0]->kernel(kernel.host_s, kernel.cost.seconds, Cause::GradientReduce, kernel.cost.label);
      programs_[1]->host(kernel.host_s, Cause::GradientReduce, kernel.cost.label);
    }
  }

  // Bytes of gradients in groups of more than one tensor; groups close before they exceed 10 MiB.
  std::int64_t bytes_in_groups() const {
    std::int64_t in_groups = 0, open = 0;
    int tensors = 0;
    const auto close = [&] {
      if (tensors > 1) in_groups += open;
      open = 0;
      tensors = 0;
    };
    for (const auto& parameter : context_.model.parameters) {
      if (tensors > 0 && open + parameter.bytes() > kCoalescedGroupBytes) close();
      open += parameter.bytes();
      ++tensors;
    }
    close();
    return in_groups;
  }

  const StepContext& context_;
  const HostCosts& host_;
  int gpus_;
  Ring ring_;
  HostCounts counts_;
  std::array<RankView, 2> views_;  // GPU 0, the others
  std::array<ProgramBuilder*, 2> programs_{};
  StepProgram step_;
  StepGraph graph_;
};

}  // namespace

StepGraph build_dp(const StepContext& context) {
  return DpBuilder(context).build();
}

}  // namespace lockstep
