#include "simulator/answers/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "simulator/answers/catalogue.h"

namespace lockstep {
namespace {

// A cause below this share of the step is not worth a sentence.
constexpr double kWorthSaying = 0.01;
// From this share of the step on, a waiting GPU is worth a warning.
constexpr double kHostBoundShare = 0.2;

using Values = std::map<std::string, std::string>;

constexpr std::array kComputing = {Cause::Forward, Cause::Backward, Cause::Optimizer};

bool is_computing(Cause cause) {
  return std::find(kComputing.begin(), kComputing.end(), cause) != kComputing.end();
}

std::string text_of(std::int64_t count) {
  return fmt::format("{}", count);
}

double input_share(const Run& run) {
  return run.part_s(Cause::Input) / run.step_time_s;
}

// A run that waits for its loader longer than it loses to anything against one GPU. Where one GPU waits for its own
// loader as long, the loader is no loss against it, and yet what to change.
bool loader_is_largest(const Run& run, const std::optional<Loss>& other, double kernels_s) {
  const double largest_s = std::max(other ? other->seconds : 0, kernels_s);
  const bool other_is_input = other && other->cause == Cause::Input;
  return !other_is_input && input_share(run) >= kWorthSaying && run.part_s(Cause::Input) > largest_s;
}

std::string counted(int count, const char* one, const char* many) {
  return count == 1 ? fmt::format("one {}", one) : fmt::format("{} {}", count, many);
}

double host_bound_share(const Run& run) {
  return run.part_s(Cause::HostBound) / run.step_time_s;
}

bool is_strong(const Run& run) {
  return run.scaling == "strong";
}

class Writer {
 public:
  Writer(Result& result, const Run& single, const Inputs& inputs)
      : result_(result), single_(single), inputs_(inputs), on_cores_(inputs.topology.node.gpu.vendor == "cpu") {}

  void say(const char* id, Values values) {
    values["device"] = on_cores_ ? "core" : "gpu";
    result_.answer.sentences.push_back(make_sentence(id, std::move(values)));
  }

  Values about(const Run& run) const {
    return {{"strategy", name_of(run.strategy)}, {"gpus", text_of(run.gpus)}, {"devices", devices(run.gpus)}};
  }

  void speed(const Run& run) {
    Values values = about(run);
    values["speedup"] = digits(run.speedup);
    values["efficiency"] = digits(run.efficiency);
    if (run.strategy == Strategy::Single)
      say("single", {{"throughput", digits(run.throughput)},
                     {"unit", run.throughput_unit},
                     {"step_time_s", digits(run.step_time_s)}});
    else
      say(run.gpus == 1 ? "speedup_one" : "speedup", std::move(values));
    if (run.efficiency > 1 + kWorthSaying && run.gpus > 1) superlinear(run);
  }

  void comparison(const Run& a, const Run& b) {
    const Run& fast = a.throughput >= b.throughput ? a : b;
    const Run& slow = &fast == &a ? b : a;
    Values values = about(a);
    values["fast"] = name_of(fast.strategy);
    values["slow"] = name_of(slow.strategy);
    values["factor"] = digits(fast.throughput / slow.throughput);
    say("comparison", std::move(values));
  }

  // The run that is furthest below one on fewer GPUs (one GPU without a wrapper counts for every strategy).
  void more_is_slower(Strategy strategy) {
    const Run *slow = nullptr, *fast = nullptr;
    double least = 1 - kWorthSaying;
    for (const Run& more : result_.runs)
      for (const Run& fewer : result_.runs) {
        if (more.not_run || fewer.not_run || more.strategy != strategy || fewer.gpus >= more.gpus) continue;
        if (fewer.strategy != strategy && fewer.strategy != Strategy::Single) continue;
        if (more.throughput >= least * fewer.throughput) continue;
        least = more.throughput / fewer.throughput;
        slow = &more;
        fast = &fewer;
      }
    if (slow == nullptr) return;
    Values values = about(*slow);
    values["plural"] = devices(2);
    values["throughput"] = digits(slow->throughput);
    values["unit"] = slow->throughput_unit;
    values["fewer"] = text_of(fast->gpus);
    values["fewer_throughput"] = digits(fast->throughput);
    say("more_is_slower", std::move(values));
  }

  // A step that waits for the CPU or for its loader says so first; then what it loses against one GPU. Slower kernels
  // (of the slowest of ranks that differ, or with fewer samples each) come first where they are the larger loss.
  void why(const Run& run) {
    host(run);
    loader(run);
    const auto other = largest_loss(run, single_);
    const double kernels_s = computing_loss_s(run, single_);
    if (loader_is_largest(run, other, kernels_s)) {  // said above; that one GPU waits as well makes it no better
      if (other) say("next_loss", about_loss(run, *other));
    } else if (kernels_s >= kWorthSaying * run.step_time_s && (!other || kernels_s > other->seconds)) {
      say(is_strong(run) ? "slower_kernels_strong" : "slower_kernels", about_loss(run, kernels_s));
      if (other) say("next_loss", about_loss(run, *other));
    } else if (other) {
      say(is_strong(run) ? "largest_loss_strong" : "largest_loss", about_loss(run, *other));
    } else {
      say("small_loss", about(run));
    }
  }

  void host(const Run& run) {
    const double share = host_bound_share(run);
    if (share < kHostBoundShare) return;
    Values values = about(run);
    values["share"] = digits(share);
    say("host_bound", std::move(values));
  }

  // In steady state a GPU that waits for its loader at all is limited by it.
  void loader(const Run& run) {
    if (!inputs_.scenario().loader.active() || input_share(run) < kWorthSaying) return;
    const LoaderPlan plan = loader_plan_of(run, inputs_);
    Values values = about(run);
    values["share"] = digits(input_share(run));
    if (plan.host_s > 0) {
      values["host_s"] = digits(plan.host_s);
      say("loader_in_process", std::move(values));
      return;
    }
    const double batches = static_cast<double>(plan.batch) * run.micro_steps;
    values["workers"] = counted(inputs_.scenario().loader.workers_per_process, "worker", "workers");
    values["supply"] = digits(plan.rate());
    values["demand"] = digits(batches / (run.step_time_s - run.part_s(Cause::Input)));
    values["unit"] = run.throughput_unit;
    say("loader_bound", values);
    if (plan.pin_limits) {
      say("loader_pin", std::move(values));
    } else if (plan.cores_limit) {
      values["processes"] = counted(plan.processes, "process", "processes");
      values["effective"] = digits(plan.workers);
      values["cores"] = fmt::format("{}", plan.cores);
      say("loader_cores", std::move(values));
    }
  }

  void memory(const Run& run) {
    const auto lack = memory_lack(run, inputs_.topology);
    if (!lack) return;
    Values values = about(run);
    values["per_gpu_batch"] = text_of(run.per_gpu_batch);
    values["needed"] = digits(static_cast<double>(lack->needed_bytes));
    values["memory"] = digits(lack->memory_bytes);
    say("does_not_fit", std::move(values));
  }

  void uncertainty(const Run& run) {
    if (!run.uncertainty) return;
    Values values = about(run);
    values["low"] = digits(run.uncertainty->low);
    values["high"] = digits(run.uncertainty->high);
    say(run.strategy == Strategy::Single ? "uncertainty_single" : "uncertainty", std::move(values));
  }

  void lever(const Run& focus) {
    Values values = about(focus);
    if (result_.answer.levers.empty()) {
      say("no_lever", std::move(values));
      return;
    }
    const Lever& best = result_.answer.levers.front();
    values["set"] = best.set;
    values["step_time_s"] = digits(best.step_time_s);
    values["gain"] = digits(best.gain);
    say("best_lever", std::move(values));
  }

  void bucket_cap(const Run& focus, const BucketCapEffect& effect) {
    Values values = about(focus);
    values["smallest"] = digits(static_cast<double>(effect.smallest_bytes));
    values["largest"] = digits(static_cast<double>(effect.largest_bytes));
    values["lowest"] = digits(effect.lowest_gain);
    values["highest"] = digits(effect.highest_gain);
    say("bucket_cap", std::move(values));
  }

 private:
  std::string devices(int count) const {
    const std::string one = on_cores_ ? "core" : "gpu";
    return count == 1 ? one : one + "s";
  }

  Values about_loss(const Run& run, double loss) const {
    Values values = about(run);
    values["loss_s"] = digits(loss);
    values["step_time_s"] = digits(run.step_time_s);
    values["share"] = digits(loss / run.step_time_s);
    values["per_gpu_batch"] = text_of(run.per_gpu_batch);
    return values;
  }
  Values about_loss(const Run& run, const Loss& loss) const {
    Values values = about_loss(run, loss.seconds);
    values["cause"] = name_of(loss.cause);
    return values;
  }

  void superlinear(const Run& run) {
    Cause cause = Cause::Other;
    double gain = 0;
    for (const Cause one : kCauses) {
      if (-loss_s(run, single_, one) <= gain) continue;
      gain = -loss_s(run, single_, one);
      cause = one;
    }
    Values values = about(run);
    values["cause"] = name_of(cause);
    say("superlinear", std::move(values));
  }

  Result& result_;
  const Run& single_;
  const Inputs& inputs_;
  bool on_cores_;
};

int most_gpus(const std::vector<Run>& runs) {
  int most = 0;
  for (const Run& run : runs)
    if (!run.not_run) most = std::max(most, run.gpus);
  return most;
}

// answer.largest_loss: where kernels lose most, the part of computing that loses most.
std::optional<Cause> cause_of_largest_loss(const Run& run, const Run& baseline) {
  const auto other = largest_loss(run, baseline);
  const double kernels_s = computing_loss_s(run, baseline);
  if (loader_is_largest(run, other, kernels_s)) return Cause::Input;
  if (kernels_s < kWorthSaying * run.step_time_s || (other && kernels_s <= other->seconds))
    return other ? std::optional(other->cause) : std::nullopt;
  return *std::max_element(kComputing.begin(), kComputing.end(),
                           [&](Cause a, Cause b) { return loss_s(run, baseline, a) < loss_s(run, baseline, b); });
}

// The bucket size is worth a word where it was asked about, or where there is more than one bucket to choose.
bool bucket_cap_matters(const Run& focus, const BucketCapEffect& effect, const Scenario& scenario) {
  return effect.highest_gain < kWorthSaying && (scenario.ddp.bucket_cap_bytes || focus.buckets.size() > 1);
}

}  // namespace

double loss_s(const Run& run, const Run& baseline, Cause cause) {
  const double samples = static_cast<double>(run.global_batch) / static_cast<double>(baseline.global_batch);
  return run.part_s(cause) - baseline.part_s(cause) * samples / run.gpus;
}

double computing_loss_s(const Run& run, const Run& baseline) {
  double loss = 0;
  for (const Cause cause : kComputing) loss += loss_s(run, baseline, cause);
  return loss;
}

std::optional<Loss> largest_loss(const Run& run, const Run& baseline) {
  Loss largest;
  for (const Cause cause : kCauses) {
    if (is_computing(cause)) continue;
    const double loss = loss_s(run, baseline, cause);
    if (loss > largest.seconds) largest = {cause, loss};
  }
  if (largest.seconds < kWorthSaying * run.step_time_s) return std::nullopt;
  return largest;
}

std::optional<std::size_t> focus_run(const std::vector<Run>& runs) {
  std::optional<std::size_t> focus;
  const int most = most_gpus(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    if (run.not_run || run.gpus != most) continue;
    const bool better = !focus || runs[*focus].strategy == Strategy::Single ||
                        (run.strategy != Strategy::Single && run.throughput < runs[*focus].throughput);
    if (better) focus = i;
  }
  return focus;
}

// The least host factor that a scenario takes.
constexpr double kLeastHostFactor = 0.01;

void add_sentences(Result& result, const Points::Single& single, const Inputs& inputs,
                   const KernelCalibration& calibration, const std::optional<BucketCapEffect>& bucket_cap,
                   bool levers_tried) {
  const auto at = focus_run(result.runs);
  if (!at) return;
  const Run& focus = result.runs[*at];
  Writer writer(result, single.run, inputs);
  std::vector<const Run*> shown;  // the strategies at the largest GPU count
  for (const Run& run : result.runs)
    if (!run.not_run && run.gpus == focus.gpus && (run.strategy != Strategy::Single || &run == &focus))
      shown.push_back(&run);
  for (const Run* run : shown) writer.speed(*run);
  if (shown.size() == 2) writer.comparison(*shown[0], *shown[1]);
  for (const Strategy strategy : {Strategy::Dp, Strategy::Ddp}) writer.more_is_slower(strategy);
  for (const Run* run : shown)
    if (run->strategy == Strategy::Single) {
      writer.host(*run);
      writer.loader(*run);
    } else {
      writer.why(*run);
    }
  if (std::any_of(shown.begin(), shown.end(), [](const Run* run) { return host_bound_share(*run) >= kHostBoundShare; }))
    writer.say("host_bound_help", {});
  if (const auto cause = cause_of_largest_loss(focus, single.run)) result.answer.largest_loss = name_of(*cause);
  if (levers_tried) writer.lever(focus);
  if (bucket_cap && bucket_cap_matters(focus, *bucket_cap, inputs.scenario())) writer.bucket_cap(focus, *bucket_cap);
  std::set<std::pair<Strategy, std::int64_t>> told;  // rows with the same batch per GPU need the same
  for (const Run& run : result.runs)
    if (!run.not_run && (run.strategy != Strategy::Single || &run == &focus) &&
        told.insert({run.strategy, run.per_gpu_batch}).second)
      writer.memory(run);
  if (single.accumulated)
    writer.say("baseline_accumulates",
               {{"global_batch", text_of(single.run.global_batch)}, {"micro_steps", text_of(single.run.micro_steps)}});
  if (calibration.host_limits && calibration.explaining_host_factor >= kLeastHostFactor)
    writer.say("host_limits_calibration", {{"host_factor", fmt::format("{:.2g}", calibration.explaining_host_factor)}});
  else if (calibration.host_limits)
    writer.say("impossible_calibration", {});
  if (result.fidelity["compute"] != "calibrated") writer.uncertainty(focus);
  std::vector<std::string> notes;
  for (const Run& run : result.runs)
    for (const std::string& note : run.notes)
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  for (const std::string& note : notes) writer.say("note", {{"text", note}});
}

}  // namespace lockstep
