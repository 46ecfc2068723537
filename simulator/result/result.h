// One answer, predicted or measured, in the terms of docs/interface.md ("A result"). SI units. An optional that is
// unset is absent from the JSON: never null or zero for unknown.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/scenario.h"

namespace lockstep {

// The partition of the critical rank's GPU compute lane over one step.
enum class Cause {
  Input,
  CopyToDevice,
  Scatter,
  Replicate,
  Forward,
  Gather,
  Backward,
  GradientReduce,
  BucketCopies,
  BufferBroadcast,
  Contention,
  WaitForPeers,
  ExposedCommunication,
  HostBound,
  Optimizer,
  Other
};
inline constexpr int kCauseCount = static_cast<int>(Cause::Other) + 1;
const char* name_of(Cause cause);  // input, copy_to_device, ... as in breakdown_s
std::optional<Cause> cause_of(std::string_view name);
inline constexpr std::array<Cause, kCauseCount> kCauses = {Cause::Input,
                                                           Cause::CopyToDevice,
                                                           Cause::Scatter,
                                                           Cause::Replicate,
                                                           Cause::Forward,
                                                           Cause::Gather,
                                                           Cause::Backward,
                                                           Cause::GradientReduce,
                                                           Cause::BucketCopies,
                                                           Cause::BufferBroadcast,
                                                           Cause::Contention,
                                                           Cause::WaitForPeers,
                                                           Cause::ExposedCommunication,
                                                           Cause::HostBound,
                                                           Cause::Optimizer,
                                                           Cause::Other};

enum class Lane { Cpu, Compute, Communication, Copy };
const char* name_of(Lane lane);  // cpu, compute, communication, copy
std::optional<Lane> lane_of(std::string_view name);

inline constexpr int kMostOtherTimelines = 7;

// One interval of the timeline of one rank; times from the start of the shown step.
struct Span {
  Lane lane = Lane::Compute;
  Cause cause = Cause::Other;
  std::string name;  // conv_wgrad layer1.0.conv1, ncclAllReduce bucket 2, ...
  double start_s = 0, end_s = 0;
  std::int64_t bytes = 0;  // copies and collectives
};

// The timeline of ranks other than the critical one.
struct RankTimeline {
  std::string ranks;  // as in RankStats
  std::vector<Span> spans;
};

// A piece of a breakdown's cause: the op class (conv_dgrad), the bucket or the copy that the GPU did or waited for.
struct StepPart {
  Cause cause = Cause::Other;
  std::string detail;
  double seconds = 0;
};

struct BucketTimes {
  int index = 0;
  std::int64_t bytes = 0;
  double ready_s = 0, launch_s = 0, start_s = 0, end_s = 0, wait_s = 0, transfer_s = 0;
  std::string algorithm, protocol;
  int channels = 0;
};

// Of a profile: seconds of the critical rank by class of op in one step.
struct OpClassTimes {
  std::string op_class;
  double forward_s = 0, backward_s = 0, step_s = 0;  // step: of the optimizer
};

struct RankStats {
  std::string ranks;  // "0-7" or "3"
  std::string host;   // node0; "node0-node3" for a folded range
  double step_time_s = 0;
  double gpu_utilization = 0, gpu_compute_utilization = 0, launch_thread_utilization = 0;  // 0: not known
  std::optional<std::int64_t> memory_allocated_bytes, memory_reserved_bytes;
  std::optional<double> cpu_time_s;  // of all its threads in one step
};

struct LinkUse {
  std::string id, link_class;
  std::int64_t bytes = 0;  // per step
  double busy_s = 0, utilization = 0, peak_rate = 0;
};

struct Baseline {
  Strategy strategy = Strategy::Single;
  std::int64_t per_gpu_batch = 0;
  int micro_steps = 1;
  double step_time_s = 0;
  bool feasible = true;  // fits the memory of one GPU
};

struct Spread {
  double p5 = 0, p50 = 0, p95 = 0;
  int n = 0;
  std::string over = "steps";
};
struct Uncertainty {
  double low = 0, high = 0, level = 0.8;
  std::string from = "model";
};
struct Samples {
  int repeat = 0;
  std::vector<double> step_times_s;
};

struct Run {
  Strategy strategy = Strategy::Single;
  std::string implementation;  // "model of DDP", ...
  int world_size = 1, nodes = 1, gpus = 1, processes = 1;
  std::map<std::string, std::string> point;  // swept keys
  std::optional<std::string> not_run;        // the reason; then nothing below is set

  std::int64_t per_gpu_batch = 0, global_batch = 0;
  int micro_steps = 1;
  double step_time_s = 0;
  std::optional<Spread> spread;
  std::optional<Uncertainty> uncertainty;
  std::vector<Samples> samples;
  std::vector<double> warm_up_step_times_s;
  double throughput = 0;
  std::string throughput_unit;
  double speedup = 0, efficiency = 0;
  std::string scaling;  // weak | strong
  std::optional<Baseline> baseline;
  std::array<double, kCauseCount> breakdown_s{};
  double hidden_communication_s = 0;
  double communication_s =
      0;  // sum of transfer_s of the gradient collectives on the communication stream (not in the JSON)
  std::vector<BucketTimes> buckets;
  std::vector<RankStats> ranks;
  std::vector<LinkUse> links;
  std::vector<OpClassTimes> profile;                    // measured, when asked for
  std::map<std::string, std::string> ddp_logging_data;  // measured: what DDP's own logger says on rank 0
  std::optional<bool> fits_memory;                      // what each rank reserves against the memory of its GPU
  std::optional<double> cpu_utilization, epoch_time_s, total_time_s, cost_per_epoch, cost_total;
  std::vector<std::string> notes;             // settings without effect, doubts: each a sentence
  std::vector<Span> timeline;                 // of the critical rank in the shown step; only kept when asked for
  std::string timeline_ranks;                 // whose: as in RankStats
  std::vector<RankTimeline> other_timelines;  // of ranks that do something else, at most kMostOtherTimelines of them
  std::vector<StepPart> parts;  // of the same step, adding up to breakdown_s cause by cause; only when asked for

  double part_s(Cause cause) const { return breakdown_s[static_cast<std::size_t>(cause)]; }
};

struct Sentence {
  std::string id;
  std::map<std::string, std::string> values;
  std::string text;
};

struct Lever {
  std::string set;  // ddp.bucket_cap=50MiB: what to give to --set
  double step_time_s = 0;
  double gain = 0;  // throughput ratio - 1
};

struct Answer {
  std::vector<Sentence> sentences;
  std::optional<std::string> largest_loss;  // a breakdown key
  std::vector<Lever> levers;                // best first, from 1 % gain
};

struct Result {
  std::string kind = "predicted";              // predicted | measured
  std::string scenario_yaml;                   // as resolved; JSON carries it as an object
  std::map<std::string, std::string> machine;  // what measured: host, cpu, cores, ...
  std::optional<std::string> partial;          // why some of what was asked for is missing
  std::optional<std::string> calibration;
  std::map<std::string, std::string> software, fidelity;
  std::vector<Run> runs;
  Answer answer;
};

const char* lockstep_version();  // 0.1.0

}  // namespace lockstep
