// Rules on what code does: decided by facts of PyTorch that depend on its version, with a run for the size of it.
#include <fmt/format.h>

#include <algorithm>

#include "models/derived.h"
#include "simulator/answers/claims_trial.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

constexpr Version kNoDeviceLists = {1, 9};     // from here on one process drives one device
constexpr Version kShortNcclTimeout = {2, 2};  // from here on NCCL's default is 10 minutes
constexpr double kOldTimeout_s = 1800, kNcclTimeout_s = 600;

}  // namespace

ClaimTrial::Done ClaimTrial::large_model() {
  const ClaimSetting& setting = defaults_.front();
  const auto inputs = default_inputs();
  if (!inputs) return tl::unexpected(inputs.error());
  ClaimPoint point = claim_.of;
  const auto run = bench_.run(claim_, setting, point);
  if (!run) return tl::unexpected(run.error());
  std::int64_t needed = 0;
  for (const RankStats& rank : (*run)->ranks) needed = std::max(needed, rank.memory_reserved_bytes.value_or(0));
  const double memory = (*inputs)->topology.node.gpu.memory_bytes;
  say("a compiled model cannot be simulated yet (front_end: compile comes with a later version): the gain stays open");
  const bool fits = static_cast<double>(needed) <= memory;
  say(fmt::format(
      "under DDP every GPU holds the whole model: {} billion parameters need {} of the {} of one {} ({}, {} "
      "sample per GPU), {}",
      format_significant(static_cast<double>(parameter_count((*inputs)->model)) / 1e9),
      format_bytes(static_cast<double>(needed)), format_bytes(memory), (*inputs)->topology.node.gpu.name,
      name_of((*inputs)->scenario().precision), (*run)->per_gpu_batch,
      fits ? "which fits" : "so plain DDP cannot train it on this machine"));
  return {};
}

ClaimTrial::Done ClaimTrial::equal_shares() {
  const auto inputs = default_inputs();
  if (!inputs) return tl::unexpected(inputs.error());
  const std::int64_t samples = (*inputs)->scenario().data_samples.value_or(0);
  const std::int64_t ranks = claim_.of.gpus, share = (samples + ranks - 1) / ranks;
  say(fmt::format("counts: every rank gets {} of {} samples ({} of them padding), so the numbers of steps are equal",
                  format_count(share), format_count(samples), share * ranks - samples));
  part("in the number of samples", Verdict::Supported);
  double most = 0;
  for (const ClaimSetting& setting : defaults_) {
    const auto skewed = run_of(setting);
    ClaimPoint even = claim_.of;
    even.sets = {"noise=none"};
    const auto without = bench_.run(claim_, setting, even);
    if (!skewed || !without) return tl::unexpected(!skewed ? skewed.error() : without.error());
    if (cannot_run(**skewed) || cannot_run(**without)) return {};
    tried_.push_back(setting);
    const double cost = (*skewed)->step_time_s / (*without)->step_time_s - 1;
    most = std::max(most, cost);
    say(
        fmt::format("waiting: {}: with equal batches on {} GPUs whose steps vary ({}), a step takes {} instead of {}, "
                    "{} more",
                    scenario_name(setting), ranks, fmt::join(claim_.of.sets, ", "), format_time((*skewed)->step_time_s),
                    format_time((*without)->step_time_s), format_percent(cost)));
  }
  part("in waiting for the slowest rank", verdict_if(most < kClaimWorthSaying));
  conclude();
  return {};
}

ClaimTrial::Done ClaimTrial::timeout() {
  const auto inputs = default_inputs();
  if (!inputs) return tl::unexpected(inputs.error());
  const Version torch = torch_version((*inputs)->scenario());
  const double standard = torch < kShortNcclTimeout ? kOldTimeout_s : kNcclTimeout_s;
  double longest = 0;
  for (const ClaimSetting& setting : defaults_) {
    const auto run = run_of(setting);
    if (!run) return tl::unexpected(run.error());
    if (cannot_run(**run)) return {};
    tried_.push_back(setting);
    longest = std::max(longest, (*run)->step_time_s);
  }
  const bool longer = *claim_.time_s > standard;
  say(fmt::format("{} is {} the default of PyTorch {}.{} for NCCL ({}){}", format_time(*claim_.time_s),
                  *claim_.time_s == standard ? "just"
                  : longer                   ? "longer than"
                                             : "shorter than",
                  torch.major, torch.minor, format_time(standard),
                  longer ? ", so waits in between are no longer aborted" : ", so setting it avoids no abort"));
  say(fmt::format(
      "a whole predicted step of {} takes {} at most: in a healthy run no collective comes near either; a rank "
      "that is dead or waits for a collective that never starts is aborted later, not less often",
      point_name(), format_time(longest)));
  result_.verdict = verdict_if(longer);
  return {};
}

ClaimTrial::Done ClaimTrial::device_ids() {
  const auto inputs = default_inputs();
  if (!inputs) return tl::unexpected(inputs.error());
  const Version torch = torch_version((*inputs)->scenario());
  tried_.push_back(defaults_.front());
  const bool refused = claim_.devices > 1 && torch >= kNoDeviceLists;
  say(fmt::format("{} device{} in device_ids, PyTorch {}.{}: {}", claim_.devices, claim_.devices == 1 ? "" : "s",
                  torch.major, torch.minor,
                  refused
                      ? "the constructor of DistributedDataParallel raises ValueError; from 1.9 on one process drives "
                        "one device"
                      : "accepted"));
  result_.verdict = verdict_if(!refused);
  return {};
}

ClaimTrial::Done ClaimTrial::zero_grad() {
  const ClaimSetting& setting = defaults_.front();
  const auto inputs = default_inputs();
  if (!inputs) return tl::unexpected(inputs.error());
  const auto kept = run_of(setting, {"optimizer.zero_grad=zeros"}),
             dropped = run_of(setting, {"optimizer.zero_grad=none"});
  if (!kept || !dropped) return tl::unexpected(!kept ? kept.error() : dropped.error());
  if (cannot_run(**kept) || cannot_run(**dropped)) return {};
  tried_.push_back(setting);
  const int steps = (*inputs)->scenario().accumulate_steps;
  const std::string once = "cleared once per optimizer step", every = "cleared in every micro-step";
  say(fmt::format("{}: right; the optimizer sees the gradients of all {} micro-steps", once, steps));
  say(fmt::format(
      "{}: wrong; the gradients of {} of {} micro-steps are thrown away, the effective batch is that of one "
      "micro-step",
      every, steps - 1, steps));
  say(
      fmt::format("what it costs is small either way: filling gradients with zeros makes a step of {} take {}, setting "
                  "them to none {}",
                  point_name(), format_time((*kept)->step_time_s), format_time((*dropped)->step_time_s)));
  if (claim_.zero_grad != "each_micro_step") part(once, Verdict::Supported);
  if (claim_.zero_grad != "each_step") part(every, Verdict::Contradicted);
  if (claim_.zero_grad == "unstated") {
    say("which of the two the code has is not recorded in this file");
    result_.verdict = Verdict::NotCheckable;
  } else {
    conclude();
  }
  return {};
}

}  // namespace lockstep
