#include "hwrunner/worker/worker.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "hwrunner/modules/module_facts.h"
#include "scenarios/load_model.h"
#include "scenarios/reader.h"
#include "simulator/result/json.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Error not_supported(const std::string& key, const std::string& found, const std::string& allowed,
                    const std::string& message) {
  Error error;
  error.kind = ErrorKind::NotSupported;
  error.key = key;
  error.found = found;
  error.allowed = allowed;
  error.message = message;
  return error;
}

// What the runner on CPUs cannot do yet, under the scenario's own keys.
Errors check_scenario(const Scenario& scenario) {
  Errors errors;
  if (scenario.precision != Precision::Fp32) {
    errors.push_back(not_supported("precision", name_of(scenario.precision), "fp32",
                                   "the hardware runner on CPUs trains in fp32 only"));
  }
  if (scenario.clip_grad_norm) {
    errors.push_back(
        not_supported("optimizer.clip_grad_norm", "true", "false", "the hardware runner does not clip gradients yet"));
  }
  return errors;
}

Expected<std::int64_t> batch_of(const Scenario& scenario, const WorkerOptions& options, int ranks) {
  if (options.batch) return *options.batch;
  if (scenario.per_gpu_batch) return *scenario.per_gpu_batch;
  const std::int64_t parts = static_cast<std::int64_t>(ranks) * scenario.accumulate_steps;
  if (*scenario.global_batch % parts == 0) return *scenario.global_batch / parts;
  Error error =
      not_supported("batch.global", std::to_string(*scenario.global_batch), "a multiple of ranks x micro-steps",
                    "ranks and micro-steps do not divide the global batch");
  error.kind = ErrorKind::Conflict;
  return tl::make_unexpected(Errors{error});
}

Expected<TrainerOptions> trainer_options(const Scenario& scenario, const WorkerOptions& options) {
  TrainerOptions t = options.trainer;
  t.strategy = options.strategy.value_or(t.group.world > 1 ? Strategy::Ddp : Strategy::Single);
  if (t.strategy != Strategy::Ddp && t.group.world > 1) {
    return tl::make_unexpected(
        Errors{not_supported("--strategy", "single", "ddp", "without a wrapper ranks know nothing of each other")});
  }
  const Expected<std::int64_t> batch =
      batch_of(scenario, options, t.strategy == Strategy::Dp ? t.replicas : t.group.world);
  if (!batch) return tl::make_unexpected(batch.error());
  t.batch = *batch;
  t.micro_steps = scenario.accumulate_steps;
  t.no_sync = scenario.accumulate_no_sync;
  t.ddp = scenario.ddp;
  t.optimizer = scenario.optimizer;
  t.optimizer_implementation = scenario.optimizer_implementation;
  t.weight_decay = scenario.weight_decay;
  t.zero_in_place = scenario.zero_grad == ZeroGrad::Zeros ||
                    (scenario.zero_grad == ZeroGrad::Auto && torch_version(scenario) < Version{2, 0});
  t.seed = scenario.seed;
  return t;
}

class Lines {
 public:
  Lines(std::ostream& out, const TrainerOptions& options, int repeat) : out_(out), options_(options), repeat_(repeat) {}

  void start(const Model& model, const std::vector<std::int64_t>& buckets) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    Json line = begin("worker");
    line["world_size"] = options_.strategy == Strategy::Ddp ? options_.group.world : 1;
    line["host"] = host.data();
    line["pid"] = getpid();
    line["strategy"] = name_of(options_.strategy);
    line["implementation"] = implementation();
    if (options_.strategy == Strategy::Dp) line["replicas"] = options_.replicas;
    line["backend"] = "gloo";
    line["libtorch"] = libtorch_version();
    line["model"] = model.name;
    line["sample_unit"] = model.sample_unit;
    line["per_gpu_batch"] = options_.batch;
    line["micro_steps"] = options_.micro_steps;
    line["threads"] = options_.threads;
    line["hook"] = name_of(options_.hook);
    line["instrumented"] = options_.instrument;
    if (!buckets.empty()) line["bucket_bytes"] = buckets;
    write(line);
  }

  void step(int index, bool warm_up, const MeasuredStep& s) {
    Json line = begin("step");
    line["index"] = index;
    line["warm_up"] = warm_up;
    line["start_s"] = s.start_s;
    line["end_s"] = s.start_s + s.total_s;
    line["step_time_s"] = s.total_s;
    line["breakdown_s"] = {{"forward", s.forward_s},
                           {"backward", s.backward_s},
                           {"exposed_communication", s.exposed_communication_s},
                           {"optimizer", s.optimizer_s},
                           {"buffer_broadcast", s.buffer_broadcast_s},
                           {"other", s.prepare_s}};
    if (options_.strategy == Strategy::Dp) {
      line["breakdown_s"]["scatter"] = s.scatter_s;
      line["breakdown_s"]["replicate"] = s.replicate_s;
      line["breakdown_s"]["gather"] = s.gather_s;
      line["breakdown_s"]["gradient_reduce"] = s.gradient_reduce_s;
    }
    line["loss"] = s.loss;
    for (const MeasuredBucket& b : s.buckets) {
      line["buckets"].push_back({{"index", b.index},
                                 {"bytes", b.bytes},
                                 {"ready_s", b.ready_s},
                                 {"launch_s", b.launch_s},
                                 {"end_s", b.end_s}});
    }
    write(line);
  }

  void done(const Trainer& trainer) {
    Json line = begin("done");
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    line["cpu_time_s"] = seconds(use.ru_utime) + seconds(use.ru_stime);
    line["peak_memory_bytes"] = use.ru_maxrss * 1024;
    if (const auto bytes = trainer.bucket_bytes(); !bytes.empty()) line["bucket_bytes"] = bytes;
    if (const auto log = trainer.ddp_log(); !log.empty()) line["ddp_log"] = log;
    write(line);
  }

 private:
  const char* implementation() const {
    if (options_.strategy == Strategy::Dp) return "cpu stand-in";
    return options_.strategy == Strategy::Ddp ? "c10d Reducer" : "LibTorch module";
  }

  Json begin(const char* type) const { return {{"type", type}, {"rank", options_.group.rank}, {"repeat", repeat_}}; }
  void write(const Json& line) { out_ << line.dump() << '\n' << std::flush; }

  std::ostream& out_;
  const TrainerOptions& options_;
  int repeat_;
};

Errors train(const WorkerOptions& options, const TrainerOptions& trainer_options,
             const std::shared_ptr<const Model>& model, std::ostream& out) {
  Lines lines(out, trainer_options, options.repeat);
  auto trainer = make_trainer(model, trainer_options);
  if (!trainer) return trainer.error();
  lines.start(*model, (*trainer)->bucket_bytes());
  for (int i = 0; i < options.warm_up + options.steps; ++i) {
    const Expected<MeasuredStep> step = (*trainer)->step();
    if (!step) return step.error();
    lines.step(i, i < options.warm_up, *step);
  }
  lines.done(**trainer);
  return {};
}

}  // namespace

int report_worker_errors(const Errors& errors, int rank, std::ostream& out) {
  Json line = {{"type", "error"}, {"rank", rank}, {"message", errors.front().message}};
  line["errors"] = Json::parse(errors_to_json(errors, JsonLayout::OneLine))["errors"];
  out << line.dump() << '\n' << std::flush;
  return errors.front().kind == ErrorKind::RunFailed ? 2 : 1;
}

int run_worker(const WorkerOptions& options, std::ostream& out) {
  const int rank = options.trainer.group.rank;
  const auto fail = [&](const Errors& errors) { return report_worker_errors(errors, rank, out); };
  std::shared_ptr<const Model> model;
  ReadOptions read;
  read.check = [&](const Scenario& scenario) {
    Errors errors = check_scenario(scenario);
    Expected<Model> loaded = load_model(scenario);
    if (loaded) {
      model = std::make_shared<const Model>(std::move(*loaded));
    } else {
      errors.insert(errors.end(), loaded.error().begin(), loaded.error().end());
    }
    return errors;
  };
  const Expected<ReadScenario> scenario = read_scenario_file(options.scenario_file, options.sets, read);
  if (!scenario) return fail(scenario.error());
  const Expected<TrainerOptions> trainer = trainer_options(scenario->scenario, options);
  if (!trainer) return fail(trainer.error());
  const Errors errors = train(options, *trainer, model, out);
  return errors.empty() ? 0 : fail(errors);
}

}  // namespace lockstep
