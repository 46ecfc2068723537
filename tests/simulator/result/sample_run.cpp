#include "tests/simulator/result/sample_run.h"

namespace lockstep::testing {

Run full_run() {
  Run run;
  run.strategy = Strategy::Ddp;
  run.implementation = "model of DDP";
  run.world_size = run.gpus = run.processes = 8;
  run.point = {{"ddp.bucket_cap", "25MiB"}};
  run.per_gpu_batch = 128;
  run.global_batch = 2048;
  run.micro_steps = 2;
  run.step_time_s = 1.0 / 3;
  run.spread = Spread{0.1, 0.2, 0.30000000000000004, 200, "steps"};
  run.uncertainty = Uncertainty{0.28, 0.4, 0.8, "compute 0.85 to 1.15"};
  run.samples = {{0, {0.1, 5e-324, 1.7976931348623157e308}}};
  run.warm_up_step_times_s = {0.5, 0.25};
  run.throughput = 6144.000000000001;
  run.throughput_unit = "images/s";
  run.speedup = 7.7;
  run.efficiency = 0.9625;
  run.scaling = "weak";
  run.baseline = Baseline{Strategy::Single, 128, 2, 0.32, false};
  const double parts[] = {0.0, 0.01, 0, 0, 0.1, 0, 0.2};
  for (std::size_t i = 0; i < std::size(parts); ++i) run.breakdown_s[i] = parts[i];
  run.breakdown_s[static_cast<std::size_t>(Cause::ExposedCommunication)] = 0.023333333333333;
  run.hidden_communication_s = 1e-9;
  run.communication_s = 0.0233333343;
  run.buckets = {{0, 8196000, 0.019, 0.019, 0.02, 0.021, 0.001, 0.001, "ring", "simple", 24},
                 {1, 3, 0.1, 0.1, 0.3, 0.31, 0.2, 0.01, "", "", 0}};
  run.ranks = {{"0-7", "node0", 1.0 / 3, 0.97, 0.93, 0.4, 123456789012345, std::nullopt, 0.0625}};
  run.links = {{"node0.nic3", "nic", 9007199254740993, 0.003, 0.05, 25e9}};
  run.fits_memory = false;
  run.cpu_utilization = 0.07;
  run.epoch_time_s = 2.749;
  run.total_time_s = 274.9;
  run.cost_per_epoch = 0.0153;
  run.cost_total = 1.53;
  run.notes = {"`nccl` has no effect, says \"the model\"\n", "größer"};
  run.timeline = {{Lane::Cpu, Cause::HostBound, "conv1", -0.001, 0.0001, 0},
                  {Lane::Compute, Cause::Forward, "conv1", 0.0002, 0.11, 0},
                  {Lane::Cpu, Cause::HostBound, "all_reduce bucket 0", 0.0001, 0.0003, 0},
                  {Lane::Communication, Cause::ExposedCommunication, "all_reduce bucket 0", 0.02, 0.021, 8196000},
                  {Lane::Cpu, Cause::HostBound, "fc", 0.0003, 0.0005, 0},
                  {Lane::Compute, Cause::Backward, "fc", 0.11, 0.31, 0},
                  {Lane::Copy, Cause::CopyToDevice, "batch to GPU", 0.0, 0.01, 77070336},
                  {Lane::Copy, Cause::CopyToDevice, "labels to GPU", 0.005, 0.012, 1024}};
  run.timeline_ranks = "0";
  run.other_timelines = {{"1-7", {{Lane::Compute, Cause::Forward, "conv1", 0.0002, 0.0004, 0}}}};
  return run;
}

Result full_result() {
  Result result;
  result.scenario_yaml =
      "model:\n  name: resnet50\n  image: 224\nbatch:\n  per_gpu: 128\nprecision: fp32\ngpus: [1, 8]\n"
      "software:\n  torch: \"2.10\"\nhost:\n  factor: 0.8\ntf32:\n  conv: true\nquestion: 'yes'\n";
  result.software = {{"torch", "2.10"}, {"nccl", "2.28.9"}};
  result.fidelity = {{"compute", "uncalibrated"}, {"network", "simulated"}};
  Run not_run;
  not_run.strategy = Strategy::Dp;
  not_run.world_size = not_run.gpus = 16;
  not_run.not_run = "DataParallel runs in one process: one node has 8 GPUs";
  result.runs = {full_run(), not_run};
  result.answer.sentences = {{"speedup", {{"gpus", "8"}}, "8 GPUs"}};
  result.answer.largest_loss = "exposed_communication";
  result.answer.levers = {{"topology.override.nvlink.rate=600GB/s", 0.3, 0.02}};
  return result;
}

}  // namespace lockstep::testing
