// Rules that run the model: what the collectives and copies of a step do.
#include <fmt/format.h>

#include <algorithm>

#include "models/derived.h"
#include "simulator/answers/claims_trial.h"
#include "simulator/base/format.h"
#include "topologies/rates.h"
#include "topologies/routes.h"

namespace lockstep {
namespace {

struct Window {
  double start_s = 0, end_s = 0;
  double seconds() const { return std::max(0.0, end_s - start_s); }
};

// From the first to the last kernel of one phase.
Window window_of(const Run& run, Cause phase) {
  Window window;
  bool any = false;
  for (const Span& span : run.timeline) {
    if (span.lane != Lane::Compute || span.cause != phase) continue;
    window.start_s = any ? std::min(window.start_s, span.start_s) : span.start_s;
    window.end_s = any ? std::max(window.end_s, span.end_s) : span.end_s;
    any = true;
  }
  return window;
}

double communication_in(const Run& run, const Window& window) {
  double sum = 0;
  for (const Span& span : run.timeline)
    if (span.lane == Lane::Communication)
      sum += Window{std::max(span.start_s, window.start_s), std::min(span.end_s, window.end_s)}.seconds();
  return sum;
}

double all_communication(const Run& run) {
  return communication_in(run, {0, run.step_time_s * 2});
}

bool is_host_link(const LinkUse& link) {
  return link.link_class == name_of(LinkClass::Host) || link.link_class == name_of(LinkClass::Pcie) ||
         link.link_class == name_of(LinkClass::Uplink);
}

// Of the host's links, the busiest one's.
std::int64_t host_bytes(const Run& run) {
  std::int64_t most = 0;
  for (const LinkUse& link : run.links)
    if (is_host_link(link)) most = std::max(most, link.bytes);
  return most;
}

// Bytes that one rank's collectives move over the links between GPUs, per micro-step.
double exchanged_per_micro_step(const Run& run) {
  std::int64_t most = 0;
  for (const LinkUse& link : run.links)
    if (!is_host_link(link)) most = std::max(most, link.bytes);
  return static_cast<double>(most) / run.micro_steps;
}

}  // namespace

ClaimTrial::Done ClaimTrial::overlap() {
  std::vector<double> overlapped(claim_.phases.size());
  for (const ClaimSetting& setting : defaults_) {
    const auto run = run_of(setting, {}, true);
    if (!run) return tl::unexpected(run.error());
    if (cannot_run(**run)) return {};
    tried_.push_back(setting);
    std::string parts;
    for (std::size_t i = 0; i < claim_.phases.size(); ++i) {
      const double inside = communication_in(**run, window_of(**run, claim_.phases[i]));
      overlapped[i] += inside;
      parts += fmt::format("{}{} during {}", i == 0 ? "" : ", ", format_time(inside), name_of(claim_.phases[i]));
    }
    say(fmt::format("{}: of {} of collectives in one step of {}, {}", scenario_name(setting),
                    format_time(all_communication(**run)), point_name(), parts));
  }
  for (std::size_t i = 0; i < claim_.phases.size(); ++i)
    part(fmt::format("with {}", name_of(claim_.phases[i])), verdict_if(overlapped[i] > 0));
  conclude();
  return {};
}

ClaimTrial::Done ClaimTrial::host_gather() {
  // With the batch on the GPUs, whatever crosses the host's links belongs to the model.
  const ClaimSetting& setting = defaults_.front();
  const auto without = run_of(setting, {"input={source: device}"});
  const auto with = run_of(setting);
  const auto one_gpu = bench_.run(claim_, setting, {Strategy::Single, 1, claim_.of.sets});
  const auto inputs = default_inputs();
  if (!inputs) return tl::unexpected(inputs.error());
  for (const auto* one : {&without, &with, &one_gpu}) {
    if (!*one) return tl::unexpected(one->error());
    if (cannot_run(***one)) return {};
  }
  tried_.push_back(setting);
  const std::int64_t through_host = host_bytes(**without), data = host_bytes(**with) - through_host;
  const std::int64_t batch = host_bytes(**one_gpu) * claim_.of.gpus;
  const std::int64_t gradients = parameter_bytes((*inputs)->model);
  say(fmt::format("gradients: of {} in each step, {} cross links of the host; the GPUs exchange them over {}",
                  format_bytes(static_cast<double>(gradients)), format_bytes(static_cast<double>(through_host)),
                  name_of(ring_of((*inputs)->topology, claim_.of.gpus).slowest)));
  const bool comes_back = data > batch;
  say(fmt::format(
      "data: {} per step cross links of the host, {} the batch of {} on its way from host memory to the GPUs",
      format_bytes(static_cast<double>(data)), comes_back ? "more than" : "just",
      format_bytes(static_cast<double>(batch))));
  part("gradients", verdict_if(through_host >= gradients));
  part("data", verdict_if(comes_back));
  conclude();
  return {};
}

ClaimTrial::Done ClaimTrial::link_rate() {
  const auto inputs = default_inputs();
  if (!inputs) return tl::unexpected(inputs.error());
  const Topology& topology = (*inputs)->topology;
  tried_.push_back(defaults_.front());
  const Nics nics = nics_of(topology);
  const double node = nics.count * nics.rate, gpu = nvlink_rate(topology);
  const auto add = [&](const std::string& name, double rate) {
    ReadingResult reading;
    reading.name = name;
    ClaimPrediction prediction{defaults_.front(), rate, rate / kClaimTolerance, rate * kClaimTolerance, false};
    prediction.agrees = agrees(claim_.relation, *claim_.rate, prediction);
    reading.verdict = verdict_if(prediction.agrees);
    reading.predictions = {prediction};
    result_.readings.push_back(std::move(reading));
  };
  if (claim_.between_nodes) {
    if (node <= 0) {
      say("the topology says nothing of network cards");
      return {};
    }
    add("one way", node);
    add("both ways added", 2 * node);
    say(fmt::format("between nodes: {} network cards of {} move {} one way, {} both ways added ({})", nics.count,
                    format_rate(nics.rate), format_rate(node), format_rate(2 * node), topology.node.source));
    say(fmt::format("{} is what the {} NVLinks of one {} carry inside a node, both ways added", format_rate(2 * gpu),
                    topology.node.gpu.nvlink_links, topology.node.gpu.name));
  } else {
    add("one way", gpu);
    add("both ways added", 2 * gpu);
    say(fmt::format("inside a node: one {} moves {} one way, {} both ways added", topology.node.gpu.name,
                    format_rate(gpu), format_rate(2 * gpu)));
  }
  const bool any = std::any_of(result_.readings.begin(), result_.readings.end(),
                               [](const ReadingResult& one) { return one.verdict == Verdict::Supported; });
  result_.verdict = verdict_if(any);
  return {};
}

ClaimTrial::Done ClaimTrial::other_backend() {
  const auto inputs = default_inputs();
  if (!inputs) return tl::unexpected(inputs.error());
  const Topology& topology = (*inputs)->topology;
  const double ring = ring_of(topology, claim_.of.gpus).bus_bandwidth(), host = pcie_slot_rate(topology);
  say("this version predicts NCCL's rings alone, and the claim names neither the alternative nor the size of the "
      "messages");
  say(fmt::format(
      "for long messages on {}: NCCL's ring over {} GPUs runs at {}, any way through host memory at most at "
      "the {} of a GPU's PCIe slot, {} less",
      topology.name, claim_.of.gpus, format_rate(ring), format_rate(host), format_factor(ring / host)));
  return {};
}

ClaimTrial::Done ClaimTrial::no_sync() {
  double saving = 0;
  for (const ClaimSetting& setting : defaults_) {
    const auto claimed = run_of(setting), silent = run_of(setting, {"accumulate.no_sync=true"}),
               plain = run_of(setting, {"accumulate={steps: 1}"});
    for (const auto* one : {&claimed, &silent, &plain}) {
      if (!*one) return tl::unexpected(one->error());
      if (cannot_run(***one)) return {};
    }
    tried_.push_back(setting);
    saving = 1 - exchanged_per_micro_step(**claimed) / exchanged_per_micro_step(**plain);
    say(
        fmt::format("{}: {} micro-steps as written exchange {} each, without accumulation a step exchanges {}, under "
                    "no_sync each {}; a step takes {} as written and {} under no_sync ({} more)",
                    scenario_name(setting), (*claimed)->micro_steps, format_bytes(exchanged_per_micro_step(**claimed)),
                    format_bytes(exchanged_per_micro_step(**plain)), format_bytes(exchanged_per_micro_step(**silent)),
                    format_time((*claimed)->step_time_s), format_time((*silent)->step_time_s),
                    format_percent((*claimed)->step_time_s / (*silent)->step_time_s - 1)));
  }
  result_.verdict = verdict_if(saving >= kClaimWorthSaying);
  return {};
}

}  // namespace lockstep
