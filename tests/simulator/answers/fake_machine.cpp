#include "tests/simulator/answers/fake_machine.h"

#include <gtest/gtest.h>

namespace lockstep::testing {
namespace {

double nvlink_share(const Topology& topology) {
  const auto found = topology.overrides.find("nvlink.rate");
  return found == topology.overrides.end() ? 1 : 300e9 / found->second;
}

void add(Run& run, Cause cause, double seconds) {
  run.breakdown_s[static_cast<std::size_t>(cause)] += seconds;
  run.step_time_s += seconds;
}

}  // namespace

PointSource FakeMachine::source() {
  PointSource source;
  source.run = [this](const PointInputs& inputs, const PointOptions& options) { return run(inputs, options); };
  source.calibrate = [this](const PointInputs&, double step_s) {
    calibrated_step_s = step_s;
    return calibration;
  };
  return source;
}

Expected<Run> FakeMachine::run(const PointInputs& in, const PointOptions& options) {
  ++runs;
  asked.push_back(in);
  if (dies_in == in.strategy) {
    Error error;
    error.kind = ErrorKind::RunFailed;
    error.message = "the simulation stopped by signal 6";
    return tl::unexpected(Errors{error});
  }
  const Scenario& s = *in.scenario;
  Run run;
  run.strategy = in.strategy;
  run.implementation = "fake";
  run.world_size = run.gpus = in.gpus;
  run.nodes = in.topology->nodes_for(in.gpus);
  run.processes = in.strategy == Strategy::Ddp ? in.gpus : 1;
  const double samples = static_cast<double>(in.per_gpu_batch) * in.micro_steps * in.kernel_factor;
  add(run, Cause::Forward, 0.3e-3 * samples);
  add(run, Cause::Backward, 0.7e-3 * samples);
  add(run, Cause::HostBound, 4e-3 * s.host_factor.value_or(0.8) * in.host_scale / 0.8);
  if (s.input.source == InputSource::Host)
    add(run, Cause::CopyToDevice, s.input.memory == HostMemory::Pinned ? 5e-3 : 20e-3);
  if (s.loader.active()) add(run, Cause::Input, 80e-3 / std::max(1, s.loader.workers_per_process));
  const double share = nvlink_share(*in.topology);
  if (in.gpus > 1 && in.strategy == Strategy::Dp) add(run, Cause::GradientReduce, 60e-3 * share);
  if (in.gpus > 1 && in.strategy == Strategy::Ddp) {
    const double exposed = 30e-3 * share * (s.ddp.bucket_cap_bytes == 10 << 20 ? 0.5 : 1);
    add(run, Cause::ExposedCommunication, exposed);
    run.buckets = {{0, 25 << 20, 0.01, 0.01, 0.01, 0.01 + exposed, 0, exposed, "ring", "simple", 24}};
  }
  if (in.gpus > 1) run.links = {{"node0.gpu0.nvlink", "nvlink", 100'000'000, 30e-3 * share, 0.1, 300e9 / share}};
  const auto memory = static_cast<std::int64_t>(in.per_gpu_batch) << 29;
  run.ranks = {{"0", "node0", run.step_time_s, 0.9, 0.9, 0.5, memory, memory, {}}};
  if (options.timeline) run.timeline = {{Lane::Compute, Cause::Forward, "fake", 0, run.step_time_s, 0}};
  return run;
}

Inputs inputs_of(const std::string& more, const std::vector<std::string>& sets) {
  const std::string batch = more.find("batch:") == std::string::npos ? "batch: {per_gpu: 100}\n" : "";
  const std::string topology = more.find("topology:") == std::string::npos ? "topology: dgx-a100-80gb\n" : "";
  const std::string gpus = more.find("gpus:") == std::string::npos ? "gpus: [1, 2, 8]\n" : "";
  const std::string strategy = more.find("strategy:") == std::string::npos ? "strategy: [dp, ddp]\n" : "";
  auto inputs = load_inputs({"model: resnet50\n" + batch + topology + gpus + strategy + more, "test.yaml", sets});
  if (!inputs) {
    ADD_FAILURE() << to_text(inputs.error().front());
    return {};
  }
  return *std::move(inputs);
}

}  // namespace lockstep::testing
