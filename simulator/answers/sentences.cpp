#include "simulator/answers/sentences.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/answers/catalogue.h"

namespace lockstep {
namespace {

// A cause below this share of the step is not worth a sentence.
constexpr double kWorthSaying = 0.01;
// From this share of the step on, a waiting GPU is worth a warning.
constexpr double kHostBoundShare = 0.2;

using Values = std::map<std::string, std::string>;

bool is_computing(Cause cause) {
  return cause == Cause::Forward || cause == Cause::Backward || cause == Cause::Optimizer;
}

Values about(const Run& run) {
  return {{"strategy", name_of(run.strategy)}, {"gpus", fmt::format("{}", run.gpus)}};
}

class Writer {
 public:
  Writer(Result& result, const Run& single, const GpuType& gpu) : result_(result), single_(single), gpu_(gpu) {}

  void say(const char* id, Values values) { result_.answer.sentences.push_back(make_sentence(id, std::move(values))); }

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
    say("comparison", {{"gpus", fmt::format("{}", a.gpus)},
                       {"fast", name_of(fast.strategy)},
                       {"slow", name_of(slow.strategy)},
                       {"factor", digits(fast.throughput / slow.throughput)}});
  }

  void why(const Run& run) {
    Values values = about(run);
    const auto loss = largest_loss(run, single_);
    if (!loss) {
      say("small_loss", std::move(values));
      return;
    }
    values["cause"] = name_of(loss->cause);
    values["loss_s"] = digits(loss->seconds);
    values["step_time_s"] = digits(run.step_time_s);
    values["share"] = digits(loss->seconds / run.step_time_s);
    say("largest_loss", std::move(values));
  }

  // The same kernels take longer on the slowest of ranks that differ, or with fewer samples each.
  void slower_kernels(const Run& run) {
    double loss = 0;
    for (const Cause cause : {Cause::Forward, Cause::Backward, Cause::Optimizer}) loss += loss_s(run, single_, cause);
    const auto other = largest_loss(run, single_);
    if (loss < kWorthSaying * run.step_time_s || (other && loss < other->seconds)) return;
    Values values = about(run);
    values["loss_s"] = digits(loss);
    values["per_gpu_batch"] = fmt::format("{}", run.per_gpu_batch);
    say(run.scaling == "strong" ? "slower_kernels_strong" : "slower_kernels_weak", std::move(values));
  }

  void host(const Run& run) {
    const double share = run.part_s(Cause::HostBound) / run.step_time_s;
    if (share < kHostBoundShare) return;
    Values values = about(run);
    values["share"] = digits(share);
    say("host_bound", std::move(values));
  }

  void memory(const Run& run) {
    if (fits_memory(run, gpu_).value_or(true)) return;
    std::int64_t needed = 0;
    for (const RankStats& rank : run.ranks) needed = std::max(needed, rank.memory_reserved_bytes.value_or(0));
    Values values = about(run);
    values["per_gpu_batch"] = fmt::format("{}", run.per_gpu_batch);
    values["needed"] = digits(static_cast<double>(needed));
    values["memory"] = digits(gpu_.memory_bytes);
    say("does_not_fit", std::move(values));
  }

  void uncertainty(const Run& run) {
    if (!run.uncertainty) return;
    Values values = about(run);
    values["low"] = digits(run.uncertainty->low);
    values["high"] = digits(run.uncertainty->high);
    say("uncertainty", std::move(values));
  }

 private:
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
  const GpuType& gpu_;
};

int most_gpus(const std::vector<Run>& runs) {
  int most = 0;
  for (const Run& run : runs)
    if (!run.not_run) most = std::max(most, run.gpus);
  return most;
}

void add_lever(Writer& writer, const Result& result, const Run& focus) {
  Values values = about(focus);
  if (result.answer.levers.empty()) {
    writer.say("no_lever", std::move(values));
    return;
  }
  const Lever& best = result.answer.levers.front();
  values["set"] = best.set;
  values["step_time_s"] = digits(best.step_time_s);
  values["gain"] = digits(best.gain);
  writer.say("best_lever", std::move(values));
}

}  // namespace

double loss_s(const Run& run, const Run& baseline, Cause cause) {
  const double samples = static_cast<double>(run.global_batch) / static_cast<double>(baseline.global_batch);
  return run.part_s(cause) - baseline.part_s(cause) * samples / run.gpus;
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

void add_sentences(Result& result, const Points::Single& single, const GpuType& gpu,
                   const KernelCalibration& calibration, bool levers_tried) {
  const auto focus = focus_run(result.runs);
  if (!focus) return;
  Writer writer(result, single.run, gpu);
  std::vector<const Run*> shown;  // the strategies at the largest GPU count
  for (const Run& run : result.runs)
    if (!run.not_run && run.gpus == result.runs[*focus].gpus &&
        (run.strategy != Strategy::Single || &run == &result.runs[*focus]))
      shown.push_back(&run);
  for (const Run* run : shown) writer.speed(*run);
  if (shown.size() == 2) writer.comparison(*shown[0], *shown[1]);
  for (const Run* run : shown)
    if (run->strategy != Strategy::Single) {
      writer.why(*run);
      writer.slower_kernels(*run);
    }
  if (const auto loss = largest_loss(result.runs[*focus], single.run))
    result.answer.largest_loss = name_of(loss->cause);
  if (levers_tried) add_lever(writer, result, result.runs[*focus]);
  for (const Run* run : shown) writer.host(*run);
  for (const Run* run : shown) writer.memory(*run);
  if (single.accumulated)
    writer.say("baseline_accumulates", {{"global_batch", fmt::format("{}", single.run.global_batch)},
                                        {"micro_steps", fmt::format("{}", single.run.micro_steps)}});
  if (calibration.host_limits)
    writer.say("host_limits_calibration", {{"host_factor", fmt::format("{:.2g}", calibration.explaining_host_factor)}});
  if (result.fidelity["compute"] != "calibrated") writer.uncertainty(result.runs[*focus]);
  std::vector<std::string> notes;
  for (const Run& run : result.runs)
    for (const std::string& note : run.notes)
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  for (const std::string& note : notes) writer.say("note", {{"text", note}});
}

}  // namespace lockstep
