#include <ATen/Parallel.h>
#include <c10/util/Logging.h>
#include <torch/csrc/autograd/engine.h>

#include <deque>
#include <optional>
#include <utility>

#include "hwrunner/modules/torch_error.h"
#include "hwrunner/modules/torch_module.h"
#include "hwrunner/paced/torch_paced.h"
#include "hwrunner/trainers/laps.h"
#include "hwrunner/trainers/torch_ddp.h"
#include "hwrunner/trainers/torch_device.h"
#include "hwrunner/trainers/torch_dp.h"
#include "hwrunner/trainers/torch_optimizer.h"
#include "hwrunner/trainers/trainer.h"

namespace lockstep {
namespace {

class TorchTrainer : public Trainer {
 public:
  TorchTrainer(std::shared_ptr<const Model> model, std::vector<OpPlan> plans, const TrainerOptions& options)
      : options_(options),
        device_(options.device ? options.device : make_cpu_device()),
        pace_(options.pace.get()),
        module_(module_of(model, std::move(plans), options)) {
    options_.device = device_;
    at::set_num_threads(options.threads);
    if (!pace_) module_->initialise(options.seed);
    if (!device_->of_replica().is_cpu()) module_->to(device_->of_replica());
    module_->train(!options.evaluation_mode);
    at::manual_seed(options.seed + static_cast<std::uint64_t>(options.group.rank));  // of dropouts
    const std::int64_t world = options.strategy == Strategy::Ddp ? options.group.world : 1;
    const std::int64_t samples = options.batch * (options.strategy == Strategy::Dp ? options.replicas : 1);
    for (int m = 0; m < options.micro_steps; ++m) {
      if (pace_) {
        batches_.emplace_back();
        continue;
      }
      const std::int64_t first = (m * world + options.group.rank) * samples;
      const Batch made = synthetic_batch(*model, options.seed, first, samples);
      batches_.push_back({made.input.to(device_->of_replica()), made.labels.to(device_->of_replica())});
    }
    if (pace_) options_.optimizer = OptimizerKind::None;  // it waits, and changes nothing
    optimizer_.emplace(options_, module_->parameters_in_order());
    if (options.strategy == Strategy::Ddp) ddp_ = std::make_unique<Ddp>(*module_, options_);
    // On one device DataParallel calls its module as it is: torch/nn/parallel/data_parallel.py.
    if (options.strategy == Strategy::Dp && options.replicas > 1)
      dp_ = device_->make_data_parallel(module_, options.replicas, options.threads);
  }

  Expected<MeasuredStep> step() override {
    return guarded("the step failed", [this]() -> Expected<MeasuredStep> {
      while (static_cast<int>(flights_.size()) <= options_.run_ahead) launch();
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

  std::map<std::string, std::string> ddp_log() const override {
    return ddp_ ? ddp_->log() : std::map<std::string, std::string>{};
  }

 private:
  static std::shared_ptr<OpModule> module_of(std::shared_ptr<const Model> model, std::vector<OpPlan> plans,
                                             const TrainerOptions& options) {
    if (options.pace) return std::make_shared<PacedModule>(std::move(model), options.pace);
    return std::make_shared<OpModule>(std::move(model), std::make_shared<const std::vector<OpPlan>>(std::move(plans)));
  }

  // A step that was given to the device.
  struct Flight {
    explicit Flight(TorchDevice& device) : laps(device) {}
    MeasuredStep step;
    Laps laps;
    at::Tensor loss;
  };

  void launch() {
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
    loss = loss.to(at::kCPU, /*non_blocking=*/true);  // there at the last mark
    optimizer_->step();
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
    const Batch& batch = batches_[static_cast<std::size_t>(m)];
    if (dp_) return dp_->micro_step(batch, options_.micro_steps, laps, step);
    if (pace_) pace_->before_meeting(m);
    if (ddp_) {
      ddp_->before_forward(sync);
      laps.add_to(step.prepare_s);
      ddp_->broadcast_buffers();
      laps.add_to(step.buffer_broadcast_s);
    }
    if (pace_) pace_->met();
    const std::vector<at::Tensor> outputs = module_->outputs(batch.input);
    if (ddp_) ddp_->before_backward(outputs, sync);
    at::Tensor loss = module_->loss(outputs, batch.labels);
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
    loss.backward();
    if (pace_) pace_->reduced();
    laps.add_to(step.backward_s, std::move(end_of_compute));
    laps.add_to(step.exposed_communication_s);
    return loss.detach();
  }

  TrainerOptions options_;
  std::shared_ptr<TorchDevice> device_;
  Pace* pace_;  // nullptr: everything is real
  std::shared_ptr<OpModule> module_;
  std::vector<Batch> batches_;
  std::optional<TorchOptimizer> optimizer_;
  std::unique_ptr<Ddp> ddp_;
  std::unique_ptr<TorchDp> dp_;
  std::deque<std::unique_ptr<Flight>> flights_;
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
