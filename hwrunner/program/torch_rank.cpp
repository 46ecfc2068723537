#include "hwrunner/program/torch_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "hwrunner/modules/module_facts.h"
#include "hwrunner/paced/pace.h"
#include "hwrunner/program/accelerator.h"
#include "hwrunner/trainers/bench.h"
#include "hwrunner/trainers/trainer.h"
#include "scenarios/load_model.h"
#include "scenarios/reader.h"
#include "simulator/answers/inputs.h"

namespace lockstep {
namespace {

constexpr const char* kLoopback = "127.0.0.1";

// An exception carries the text to run_rank, which sorts it.
template <class T>
T value_or_throw(Expected<T> value) {
  if (value) return std::move(*value);
  const Error& error = value.error().front();
  if (error.kind == ErrorKind::RunFailed) throw std::runtime_error(error.message);
  throw TrainerFailure{error.kind == ErrorKind::NotSupported ? "refused" : "setup", to_text(error), {}};
}

void check(const RunPlan& plan, const Scenario& scenario) {
  const auto refuse = [](std::string message) { throw TrainerFailure{"refused", std::move(message), {}}; };
  if (plan.backend == Backend::Nccl && !plan.on_gpus) refuse("NCCL needs GPUs, and the plan is for CPUs");
  if (plan.benches()) return;
  if (plan.paced()) return;  // Pace::make knows what it does not have
  if (!plan.on_gpus && plan.strategy == Strategy::DpCpp) refuse("LibTorch's data_parallel wants GPUs: these are CPUs");
  if (!plan.on_gpus && scenario.precision == Precision::Tf32)
    refuse("a CPU has no TF32: `precision: tf32` needs a GPU");
  if (scenario.loader.active()) refuse("the hardware runner has no data loader yet: leave `loader` out");
  if (scenario.input.source == InputSource::Host && !scenario.input.touched)
    refuse("the hardware runner's batches are touched: `input.touched: false` needs a data loader");
}

GroupOptions group_of(const RunPlan& plan, const RankPlace& place, const Scenario& scenario) {
  GroupOptions group;
  group.rank = place.rank;
  group.world = place.world_size;
  group.master = place.master_address.empty() ? kLoopback : place.master_address;
  group.port = place.master_port;
  group.serve_store = !place.agent_store;
  group.store_prefix = place.store_prefix;
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr)
    group.interface = interface;
  else if (group.master == kLoopback)
    group.interface = "lo";
  group.gloo_threads = scenario.measure.gloo_threads;
  group.store_timeout_s = plan.timeouts.join_s;
  group.timeout_s = plan.timeouts.group_s;
  return group;
}

TrainerOptions options_of(const RunPlan& plan, const RankPlace& place, const Scenario& scenario) {
  TrainerOptions options;
  options.strategy = plan.strategy;
  if (has_replicas(plan.strategy)) options.replicas = plan.world_size;
  options.batch = plan.per_gpu_batch;
  options.micro_steps = plan.micro_steps;
  options.no_sync = scenario.accumulate_no_sync;
  options.ddp = scenario.ddp;
  options.optimizer = scenario.optimizer;
  options.optimizer_implementation = scenario.optimizer_implementation;
  options.weight_decay = scenario.weight_decay;
  options.clip_grad_norm = scenario.clip_grad_norm;
  options.precision = scenario.precision;
  options.tf32_conv = scenario.tf32_conv;
  options.tf32_matmul = scenario.tf32_matmul;
  options.input = scenario.input;
  options.host_sync = scenario.host_sync == HostSync::EachStep;
  options.gil_hold_s = scenario.measure.gil_hold_s.value_or(0);
  options.zero_in_place = scenario.zero_grad == ZeroGrad::Zeros ||
                          (scenario.zero_grad == ZeroGrad::Auto && torch_version(scenario) < Version{2, 0});
  options.seed = scenario.seed;
  options.threads = plan.threads_per_rank;
  options.instrument = plan.instrumented && plan.strategy == Strategy::Ddp;
  options.group = group_of(plan, place, scenario);
  // A loop that reads nothing back is not held up.
  options.run_ahead = plan.on_gpus && !plan.instrumented && !plan.profiled && !options.host_sync ? 1 : 0;
  options.steps = plan.all_steps();
  if (plan.paced()) options.group.gloo_threads = 1;  // one collective at a time, as on NCCL's stream
  return options;
}

// Parts that took no time are left out. Gradients are cleared by the optimizer; without DDP nothing is exposed, and
// what the engine takes to come back belongs to the backward pass.
std::map<std::string, double> parts_of(const MeasuredStep& s, Strategy strategy) {
  const bool communicates = strategy == Strategy::Ddp;
  std::map<std::string, double> parts = {{"copy_to_device", s.copy_to_device_s},
                                         {"scatter", s.scatter_s},
                                         {"replicate", s.replicate_s},
                                         {"buffer_broadcast", s.buffer_broadcast_s},
                                         {"forward", s.forward_s},
                                         {"gather", s.gather_s},
                                         {"backward", s.backward_s + (communicates ? 0 : s.exposed_communication_s)},
                                         {"gradient_reduce", s.gradient_reduce_s},
                                         {"exposed_communication", communicates ? s.exposed_communication_s : 0},
                                         {"optimizer", s.optimizer_s + s.prepare_s}};
  for (auto at = parts.begin(); at != parts.end();) at = at->second > 0 ? std::next(at) : parts.erase(at);
  return parts;
}

std::map<std::string, std::string> versions() {
  std::map<std::string, std::string> all = accelerator_software();
  all["torch"] = libtorch_version();
  return all;
}

// What can be asked before the process group is made is asked here, so that the message names the cause.
void expect_a_meeting_place(const RunPlan& plan, const GroupOptions& group) {
  if (plan.processes() == 1 && plan.strategy != Strategy::Ddp) return;
  const bool serves = group.serve_store && group.rank == 0;
  const auto wrong = serves ? port_taken(group.port) : unresolved(group.master);
  if (wrong) throw TrainerFailure{"setup", to_text(*wrong), {}};
}

// Times collectives, ops or copies in place of training.
class BenchRank : public RankTrainer {
 public:
  BenchRank(RunPlan plan, RankPlace place, Precision precision, TrainerOptions options)
      : plan_(std::move(plan)), place_(std::move(place)), precision_(precision), options_(std::move(options)) {}

  std::string implementation() const override {
    return plan_.bench.kind == BenchKind::Collectives ? "c10d ProcessGroup" : "LibTorch";
  }
  std::map<std::string, std::string> software() const override { return versions(); }
  std::string network_interface() const override { return options_.group.world > 1 ? options_.group.interface : ""; }
  void build() override {
    if (plan_.on_gpus) options_.device = accelerator_of(plan_, place_);
  }
  void join() override {
    expect_a_meeting_place(plan_, options_.group);
    bench_ = value_or_throw(make_bench(plan_.bench, options_, precision_));
  }
  TrainedStep step() override { throw TrainerFailure{"exception", "a bench takes no steps", {}}; }
  std::optional<BenchRecord> bench_point() override { return value_or_throw(bench_->next()); }

 private:
  RunPlan plan_;
  RankPlace place_;
  Precision precision_;
  TrainerOptions options_;
  std::unique_ptr<Bench> bench_;
};

class TorchRank : public RankTrainer {
 public:
  TorchRank(RunPlan plan, RankPlace place, Scenario scenario, TrainerOptions options)
      : plan_(std::move(plan)),
        place_(std::move(place)),
        scenario_(std::move(scenario)),
        options_(std::move(options)) {}

  std::string implementation() const override {
    if (plan_.strategy == Strategy::Dp) return plan_.on_gpus ? "coalesced" : "cpu stand-in";
    if (plan_.strategy == Strategy::DpCpp) return "LibTorch data_parallel";
    const std::string name = plan_.strategy == Strategy::Ddp ? "c10d Reducer" : "LibTorch module";
    return plan_.paced() ? name + ", paced" : name;
  }
  std::map<std::string, std::string> software() const override { return versions(); }
  std::string network_interface() const override { return options_.group.world > 1 ? options_.group.interface : ""; }

  void build() override {
    if (!plan_.paced()) {
      if (plan_.on_gpus) options_.device = accelerator_of(plan_, place_);
      model_ = std::make_shared<const Model>(value_or_throw(load_model(scenario_)));
      return;
    }
    inputs_ = std::make_unique<Inputs>(value_or_throw(load_inputs({plan_.scenario, plan_.scenario_file, {}})));
    model_ = std::make_shared<const Model>(inputs_->model);
    options_.pace = value_or_throw(Pace::make(pace_request()));
  }

  // Building the module and joining are one in make_trainer.
  void join() override {
    expect_a_meeting_place(plan_, options_.group);
    trainer_ = value_or_throw(make_trainer(model_, options_));
  }

  TrainedStep step() override {
    if (plan_.profiled && steps_ == plan_.warm_up) value_or_throw(trainer_->start_profile());
    const MeasuredStep s = value_or_throw(trainer_->step());
    TrainedStep done;
    done.end_s = s.start_s + s.total_s;
    if (steps_++ >= plan_.warm_up) late_s_ = std::max(late_s_, s.late_s);
    if (!plan_.instrumented) return done;
    done.parts = parts_of(s, plan_.strategy);
    if (plan_.strategy != Strategy::Ddp) return done;
    done.idle_to_s = done.end_s - s.optimizer_s;
    done.idle_from_s = *done.idle_to_s - s.exposed_communication_s;
    for (const MeasuredBucket& one : s.buckets)
      done.buckets.push_back(
          {one.index, one.bytes, s.start_s + one.ready_s, s.start_s + one.launch_s, s.start_s + one.end_s});
    return done;
  }

  std::map<std::string, std::map<std::string, double>> profile() override {
    if (!plan_.profiled) return {};
    SecondsByClass seconds = value_or_throw(trainer_->profiled(options_.group.rank == 0 ? plan_.trace_file : ""));
    for (auto& [name, passes] : seconds)
      for (auto& [pass, total_s] : passes) total_s /= plan_.steps;
    return seconds;
  }
  std::int64_t peak_memory_bytes() const override { return trainer_->peak_memory_bytes(); }

  std::vector<std::string> warnings() const override { return trainer_->warnings(); }

  std::map<std::string, std::string> logging() const override {
    auto log = trainer_->ddp_log();
    log.merge(trainer_->device_facts());
    if (plan_.paced()) log[kPacedLate] = fmt::format("{}", late_s_);
    return log;
  }

 private:
  PaceRequest pace_request() const {
    PaceRequest request;
    request.point.scenario = &inputs_->scenario();
    request.point.model = &inputs_->model;
    request.point.topology = &inputs_->topology;
    request.point.strategy = plan_.strategy;
    request.point.gpus = plan_.world_size;
    request.point.per_gpu_batch = plan_.per_gpu_batch;
    request.point.micro_steps = plan_.micro_steps;
    request.point.kernel_factor = plan_.kernel_factor;
    request.rank = options_.group.rank;
    request.dilate = plan_.dilate;
    return request;
  }

  RunPlan plan_;
  RankPlace place_;
  Scenario scenario_;
  TrainerOptions options_;
  std::unique_ptr<Inputs> inputs_;  // paced
  std::shared_ptr<const Model> model_;
  std::unique_ptr<Trainer> trainer_;
  int steps_ = 0;
  double late_s_ = 0;
};

}  // namespace

std::unique_ptr<RankTrainer> make_torch_rank(const RunPlan& plan, const RankPlace& place) {
  Scenario scenario = value_or_throw(read_scenario(plan.scenario, plan.scenario_file));
  check(plan, scenario);
  TrainerOptions options = options_of(plan, place, scenario);
  if (plan.benches()) return std::make_unique<BenchRank>(plan, place, scenario.precision, std::move(options));
  return std::make_unique<TorchRank>(plan, place, std::move(scenario), std::move(options));
}

}  // namespace lockstep
