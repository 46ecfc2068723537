#include "simulator/answers/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "scenarios/checks.h"
#include "simulator/answers/points.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

// Their number per op is all that follows CUDA's version: optimizers but a for-loop, gradient clipping, and the
// unscaling of autocast with fp16.
bool launches_multi_tensor_kernels(const Scenario& s) {
  const bool optimizer =
      s.optimizer != OptimizerKind::None && s.optimizer_implementation != OptimizerImplementation::ForLoop;
  return optimizer || s.clip_grad_norm || s.precision == Precision::AmpFp16;
}

// From here on the steps of a ring, which grow with the ranks, weigh more than its bytes at default bucket sizes.
constexpr int kManyNodes = 8;

class Notes {
 public:
  Notes(const Inputs& inputs, const std::vector<Run>& runs) : inputs_(inputs), runs_(runs), notes_(inputs.read.notes) {}

  std::vector<std::string> take() {
    precision();
    mixed_nodes();
    network();
    overrides();
    const Scenario& s = inputs_.scenario();
    note(!s.noise.jitter, "seed", "without jitter nothing is drawn");
    note(!launches_multi_tensor_kernels(s), "software.cuda", "nothing in this step launches multi-tensor kernels");
    note(true, "software.nccl", "collectives are rings with NCCL's Simple protocol whatever the version");
    loader();
    for (const char* key : {"measure.steps", "measure.warm_up", "measure.repeats", "measure.timeout", "gloo.threads"})
      note(true, key, "only `lockstep measure` looks at it");
    note(inputs_.topology.node.gpu.vendor != "cpu", "measure.threads_per_rank",
         "the devices are GPUs, and only `lockstep measure` looks at it");
    const bool only_single = s.strategies == std::vector<Strategy>{Strategy::Single};
    note(only_single && s.gpus != std::vector<int>{1}, "gpus", "`strategy: single` uses one GPU");
    if (s.data_samples && s.data_validation_samples > 0)
      notes_.push_back("Validation steps take the forward parts of a training step.");
    return std::move(notes_);
  }

 private:
  void note(bool idle, const std::string& key, const std::string& why) {
    if (idle && given_otherwise_than_default(inputs_.scenario(), inputs_.read.reading, key))
      notes_.push_back(fmt::format("`{}` has no effect: {}", key, why));
  }

  std::vector<GpuType> gpus_that_differ() const {
    const Topology& topology = inputs_.topology;
    std::vector<GpuType> gpus = {topology.node.gpu};
    for (const Node& node : topology.nodes)
      if (std::find(gpus.begin(), gpus.end(), node.gpu) == gpus.end()) gpus.push_back(node.gpu);
    return gpus;
  }

  void mixed_nodes() {
    const auto gpus = gpus_that_differ();
    if (gpus.size() < 2) return;
    std::string text =
        fmt::format("One GPU, and so speed-up and efficiency, means {} of the first node.", gpus[0].name);
    if (inputs_.scenario().calibrate_single_gpu)
      text +=
          " `calibrate.single_gpu` is taken as its speed and scales the kernels of every other GPU by the same factor.";
    notes_.push_back(std::move(text));
  }

  void precision() {
    const auto gpus = gpus_that_differ();
    const bool tf32 = std::any_of(gpus.begin(), gpus.end(), [](const GpuType& gpu) { return gpu.peak_tf32 > 0; });
    const Precision precision = inputs_.scenario().precision;
    const std::string no_tf32 = fmt::format("{} has no TF32 units", gpus[0].name);
    for (const char* key : {"tf32.conv", "tf32.matmul"}) note(!tf32, key, no_tf32);
    if (precision == Precision::Tf32) note(!tf32, "precision", no_tf32 + ", so tf32 is fp32");
    for (const GpuType& gpu : gpus)
      if (precision == Precision::AmpBf16 && gpu.peak_bf16 == 0)
        notes_.push_back(fmt::format(
            "{} has no bf16 hardware: under amp-bf16 matrix products and convolutions run on its CUDA cores at "
            "fp32's speed; only the bytes of bf16 are saved.",
            gpu.name));
  }

  // A measurement with this loader cannot have been faster than it.
  void loader() {
    const Scenario& s = inputs_.scenario();
    if (!s.loader.active() || !s.calibrate_single_gpu) return;
    for (const Run& run : runs_) {
      if (run.not_run || run.gpus != 1) continue;
      const double rate = loader_plan_of(run, inputs_).rate();
      if (rate >= *s.calibrate_single_gpu) continue;
      notes_.push_back(fmt::format(
          "The loader alone makes {} {} for one GPU, fewer than the {} of calibrate.single_gpu: that was measured "
          "without this loader, or its sample_cost is too high.",
          format_significant(rate), run.throughput_unit, format_significant(*s.calibrate_single_gpu)));
      return;
    }
  }

  void network() {
    const bool several =
        std::any_of(runs_.begin(), runs_.end(), [](const Run& r) { return !r.not_run && r.nodes > 1; });
    note(!several, "topology.fabric", "no run uses more than one node");
    const bool many =
        std::any_of(runs_.begin(), runs_.end(), [](const Run& r) { return !r.not_run && r.nodes >= kManyNodes; });
    if (many)
      notes_.push_back(
          "Only rings are modelled: over many nodes NCCL takes trees for short messages, and all-reduce is faster than "
          "predicted here.");
  }

  // An override of links that no run uses.
  void overrides() {
    std::set<std::string> used;
    for (const Run& run : runs_)
      for (const LinkUse& link : run.links)
        if (link.bytes > 0) used.insert(link.link_class);
    for (const auto& [key, value] : inputs_.scenario().topology_override) {
      const std::string link_class = key.substr(0, key.find('.'));
      // Uplinks follow the slots' rate; the host's memory also sets the link between sockets.
      const bool carried =
          used.count(link_class) != 0 || (link_class == "pcie" && used.count("uplink") != 0) || link_class == "host";
      note(!carried, "topology.override." + key, fmt::format("no run sends bytes over {} links", link_class));
    }
  }

  const Inputs& inputs_;
  const std::vector<Run>& runs_;
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<std::string> notes_of(const Inputs& inputs, const std::vector<Run>& runs) {
  return Notes(inputs, runs).take();
}

}  // namespace lockstep
