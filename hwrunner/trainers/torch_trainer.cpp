#include <ATen/Parallel.h>
#include <c10/util/Logging.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/engine.h>

#include <deque>
#include <optional>
#include <utility>

#include "hwrunner/modules/torch_error.h"
#include "hwrunner/modules/torch_module.h"
#include "hwrunner/paced/torch_paced.h"
#include "hwrunner/trainers/laps.h"
#include "hwrunner/trainers/torch_amp.h"
#include "hwrunner/trainers/torch_ddp.h"
#include "hwrunner/trainers/torch_device.h"
#include "hwrunner/trainers/torch_dp.h"
#include "hwrunner/trainers/torch_optimizer.h"
#include "hwrunner/trainers/torch_profile.h"
#include "hwrunner/trainers/trainer.h"

namespace lockstep {
namespace {

class TorchTrainer : public Trainer {
 public:
  TorchTrainer(std::shared_ptr<const Model> model, std::vector<OpPlan> plans, const TrainerOptions& options)
      : options_(options),
        device_(options.device ? options.device : make_cpu_device()),
        amp_(options, device_->of_replica()),
        pace_(options.pace.get()),
        module_(module_of(model, std::move(plans), options)) {
    options_.device = device_;
    at::set_num_threads(options.threads);
    if (!pace_) module_->initialise(options.seed);
    if (!device_->of_replica().is_cpu()) module_->to(device_->of_replica());
    module_->train(!options.evaluation_mode);
    at::manual_seed(options.seed + static_cast<std::uint64_t>(options.group.rank));  // of dropouts
    const std::int64_t world = options.strategy == Strategy::Ddp ? options.group.world : 1;
    const std::int64_t samples = options.batch * (has_replicas(options.strategy) ? options.replicas : 1);
    for (int m = 0; m < options.micro_steps; ++m) {
      if (pace_) {
        batches_.emplace_back();
        continue;
      }
      const std::int64_t first = (m * world + options.group.rank) * samples;
      batches_.push_back(laid_ready(synthetic_batch(*model, options.seed, first, samples)));
    }
    if (pace_) options_.optimizer = OptimizerKind::None;  // it waits, and changes nothing
    optimizer_.emplace(options_, module_->parameters_in_order());
    if (options.strategy == Strategy::Ddp) ddp_ = std::make_unique<Ddp>(*module_, options_);
    // On one device DataParallel calls its module as it is: torch/nn/parallel/data_parallel.py, data_parallel.h.
    if (has_replicas(options.strategy) && options.replicas > 1)
      dp_ = device_->make_data_parallel(options.strategy, module_, options.replicas, options.threads);
    if (dp_) dp_->set_amp(&amp_);
    if (dp_) dp_->set_gil(options.gil_hold_s);
  }

  Expected<MeasuredStep> step() override {
    return guarded("the step failed", [this]() -> Expected<MeasuredStep> {
      while (flights_.empty() || (static_cast<int>(flights_.size()) <= options_.run_ahead && more_to_come())) launch();
      return land();
    });
  }

  std::vector<std::int64_t> bucket_bytes() const override {
    return ddp_ ? ddp_->bucket_bytes() : std::vector<std::int64_t>{};
  }

  std::vector<std::vector<float>> gradients() const override {
    std::vector<std::vector<float>> list;
    for (const at::Tensor& p : module_->parameters_in_order()) {
      std::vector<float>& copy = list.emplace_back();
      if (!p.grad().defined()) continue;
      const at::Tensor flat = p.grad().detach().to(at::kCPU, at::kFloat).contiguous().view({-1});
      copy.assign(flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel());
    }
    return list;
  }

  std::int64_t peak_memory_bytes() const override { return device_->peak_memory_bytes(); }

  Expected<bool> start_profile() override {
    return guarded("the profiler could not start", [this]() -> Expected<bool> {
      device_->synchronise();
      profile_.emplace(device_->asynchronous());
      return true;
    });
  }

  Expected<SecondsByClass> profiled(const std::string& trace_file) override {
    return guarded("the profile could not be read", [&]() -> Expected<SecondsByClass> {
      device_->synchronise();
      if (!profile_) return SecondsByClass{};
      SecondsByClass seconds = profile_->finish(trace_file);
      profile_.reset();
      return seconds;
    });
  }
  std::map<std::string, std::string> device_facts() const override { return device_->facts(); }
  std::vector<std::string> warnings() const override { return device_->warnings(); }

  std::map<std::string, std::string> ddp_log() const override {
    return ddp_ ? ddp_->log() : std::map<std::string, std::string>{};
  }

 private:
  static std::shared_ptr<OpModule> module_of(std::shared_ptr<const Model> model, std::vector<OpPlan> plans,
                                             const TrainerOptions& options) {
    if (options.pace) return std::make_shared<PacedModule>(std::move(model), options.pace);
    return std::make_shared<OpModule>(std::move(model), std::make_shared<const std::vector<OpPlan>>(std::move(plans)));
  }

  // Where a step finds its batch.
  TensorBatch laid_ready(TensorBatch made) const {
    const InputOptions& input = options_.input;
    if (made.input.is_floating_point()) made.input = made.input.to(torch_type(input.dtype));
    if (pace_ || input.source == InputSource::Device)
      return {made.input.to(device_->of_replica()), made.labels.to(device_->of_replica())};
    const bool pinned = input.memory == HostMemory::Pinned;
    return {device_->in_host_memory(made.input, pinned), device_->in_host_memory(made.labels, pinned)};
  }

  // As x.to(device, non_blocking=...) of a training loop, which on CPUs gives x itself; DataParallel may copy to its
  // devices by itself.
  TensorBatch on_device(const TensorBatch& batch) const {
    TensorBatch there = batch;
    const InputOptions& input = options_.input;
    if (input.source == InputSource::Host) {
      there.labels = there.labels.to(device_->of_replica(), input.non_blocking);
      if (!dp_ || input.dp_copy == DpCopy::Device0)
        there.input = there.input.to(device_->of_replica(), input.non_blocking);
    }
    const bool amp = options_.precision == Precision::AmpBf16 || options_.precision == Precision::AmpFp16;
    if (!amp && there.input.is_floating_point()) there.input = there.input.to(at::kFloat);
    return there;
  }

  // A step that was given to the device.
  struct Flight {
    explicit Flight(TorchDevice& device) : laps(device) {}
    MeasuredStep step;
    Laps laps;
    at::Tensor loss;
  };

  bool more_to_come() const { return options_.steps == 0 || launched_ < options_.steps; }

  void launch() {
    ++launched_;
    const ProfilerMark in_step(fmt::format("ProfilerStep#{}", launched_));
    flights_.push_back(std::make_unique<Flight>(*device_));
    MeasuredStep& step = flights_.back()->step;
    Laps& laps = flights_.back()->laps;
    if (pace_) pace_->start_step();
    optimizer_->clear_gradients();
    laps.add_to(step.prepare_s);
    at::Tensor& loss = flights_.back()->loss;
    for (int m = 0; m < options_.micro_steps; ++m) {
      const bool sync = !options_.no_sync || m + 1 == options_.micro_steps;
      loss = micro_step(m, sync, laps, step);
    }
    const at::Tensor computed = loss;
    loss = loss.to(at::kCPU, /*non_blocking=*/true);  // there at the last mark
    {
      const ProfilerMark in_optimizer("Optimizer.step#");
      amp_.step(*optimizer_);
    }
    if (options_.host_sync) computed.item<double>();
    if (pace_) {
      step.late_s = pace_->late_s();
      pace_->end_step();
    }
    laps.add_to(step.optimizer_s);
  }

  // Waits until the device is through with the oldest one.
  MeasuredStep land() {
    const std::unique_ptr<Flight> flight = std::move(flights_.front());
    flights_.pop_front();
    MeasuredStep& step = flight->step;
    const auto [start_s, end_s] = flight->laps.finish();
    step.start_s = start_s;
    step.total_s = end_s - start_s;
    step.loss = flight->loss.item<double>() * options_.micro_steps;
    if (ddp_) {
      ddp_->after_step();
      if (options_.instrument) step.buckets = ddp_->buckets(step.start_s);
    }
    return step;
  }

  at::Tensor micro_step(int m, bool sync, Laps& laps, MeasuredStep& step) {
    const TensorBatch& ready = batches_[static_cast<std::size_t>(m)];
    const TensorBatch batch = pace_ ? ready : on_device(ready);
    if (options_.input.source == InputSource::Host) laps.add_to(step.copy_to_device_s);
    if (dp_) return dp_->micro_step(batch, options_.micro_steps, laps, step);
    if (pace_) pace_->before_meeting(m);
    if (ddp_) {
      ddp_->before_forward(sync);
      laps.add_to(step.prepare_s);
      ddp_->broadcast_buffers();
      laps.add_to(step.buffer_broadcast_s);
    }
    if (pace_) pace_->met();
    std::optional<Amp::Guard> cast(std::in_place, amp_);
    const std::vector<at::Tensor> outputs = module_->outputs(batch.input);
    if (ddp_) ddp_->before_backward(outputs, sync);
    at::Tensor loss = module_->loss(outputs, batch.labels);
    cast.reset();
    if (options_.micro_steps > 1) loss = loss / options_.micro_steps;
    laps.add_to(step.forward_s);
    // Callbacks run in the order in which they were queued: this one before the Reducer's wait for its reductions.
    DeviceMark end_of_compute;
    loss.register_hook([&](const at::Tensor& gradient) {
      torch::autograd::Engine::get_default_engine().queue_callback([&] {
        if (pace_) pace_->backward_done();
        end_of_compute = device_->mark();
      });
      if (ddp_) ddp_->queue_end_of_backward();
      return gradient;
    });
    amp_.scaled(loss).backward();
    if (pace_) pace_->reduced();
    laps.add_to(step.backward_s, std::move(end_of_compute));
    laps.add_to(step.exposed_communication_s);
    return loss.detach();
  }

  TrainerOptions options_;
  std::shared_ptr<TorchDevice> device_;
  Amp amp_;
  Pace* pace_;  // nullptr: everything is real
  std::shared_ptr<OpModule> module_;
  std::vector<TensorBatch> batches_;
  std::optional<TorchOptimizer> optimizer_;
  std::unique_ptr<Ddp> ddp_;
  std::unique_ptr<TorchDp> dp_;
  std::optional<StepProfile> profile_;
  std::deque<std::unique_ptr<Flight>> flights_;
  int launched_ = 0;
};

}  // namespace

Expected<std::unique_ptr<Trainer>> make_trainer(std::shared_ptr<const Model> model, const TrainerOptions& options) {
  Expected<std::vector<OpPlan>> plans = std::vector<OpPlan>{};
  if (!options.pace) plans = plan_ops(*model);
  if (!plans) return tl::make_unexpected(plans.error());
  return guarded("the trainer could not start", [&]() -> Expected<std::unique_ptr<Trainer>> {
    return std::make_unique<TorchTrainer>(std::move(model), std::move(*plans), options);
  });
}

void initialise_logging() {
  c10::initLogging();
}

}  // namespace lockstep
