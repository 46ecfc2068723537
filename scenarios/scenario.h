// A scenario: what is trained, how, and on what. Plain data; read and checked by scenarios/reader.h from the field
// table in scenarios/fields.h. Keys and meanings: docs/interface.md. SI units inside.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/zoo/zoo.h"
#include "simulator/base/quantity.h"

namespace lockstep {

// Dp: torch.nn.DataParallel. DpCpp: LibTorch's data_parallel, which only `lockstep measure` runs, on GPUs.
enum class Strategy { Single, Dp, DpCpp, Ddp };
enum class Precision { Fp32, Tf32, AmpFp16, AmpBf16 };
enum class Switch { Auto, Off, On };
enum class OptimizerKind { None, Sgd, SgdMomentum, Adam, AdamW };
enum class OptimizerImplementation { ForLoop, Foreach, Fused };
enum class ZeroGrad { Auto, None, Zeros };
enum class InputSource { Device, Host };
enum class HostMemory { Pageable, Pinned };
enum class DpCopy { Device0, Scatter };
// What launches the kernels. Auto: Python in predictions, whatever runner is there in measurements.
enum class FrontEnd { Auto, Python, Cpp };
// Whether the training loop reads the loss back. EachStep: after every step, as loss.item() does; only `lockstep
// measure` runs it.
enum class HostSync { None, EachStep };
enum class JitterPer { Step, Rank, Op };

// One process drives all GPUs, a replica of the model on each.
bool has_replicas(Strategy strategy);
const char* name_of(Strategy strategy);    // single, dp, dp-cpp, ddp
const char* name_of(Precision precision);  // fp32, tf32, amp-fp16, amp-bf16

// Communication hooks of DDP; only `lockstep measure` runs them. None: the Reducer's own path, which divides while it
// copies into the bucket. AllReduce: the same bytes by a hook, divided by one kernel more. Fp16, Bf16: half the bytes,
// cast before and after.
enum class CommHook { None, AllReduce, Fp16, Bf16 };

struct DdpOptions {
  std::optional<std::int64_t> bucket_cap_bytes;    // unset = default: 25 MiB with a 1 MiB first bucket
  std::optional<std::int64_t> first_bucket_bytes;  // unset = 1 MiB with the default cap, else the cap
  bool gradient_as_bucket_view = false;
  bool broadcast_buffers = true;
  bool find_unused_parameters = false;
  bool static_graph = false;
  CommHook hook = CommHook::None;
};

struct InputOptions {
  InputSource source = InputSource::Device;
  HostMemory memory = HostMemory::Pageable;
  bool non_blocking = false;
  DType dtype = DType::Fp32;  // of images; token ids are int64 always
  bool touched = true;        // false: first touch of a loader's shared-memory pages is paid by the copy
  DpCopy dp_copy = DpCopy::Device0;
};

// torch.utils.data.DataLoader of each process.
struct LoaderOptions {
  std::optional<double> sample_cost_s;  // CPU time of one worker for one sample; unset: batches are always ready
  int workers_per_process = 0;          // 0: the process loads by itself, between steps
  int prefetch_factor = 2;              // batches in flight for each worker
  bool pin_memory = false;              // a thread copies each batch to pinned memory; sets InputOptions::memory
  bool in_order = true;
  bool drop_last = false;  // an epoch leaves out its last, incomplete step
  bool active() const { return sample_cost_s.has_value(); }
};

struct Jitter {
  double sigma = 0;  // of a lognormal with mean 1
  JitterPer per = JitterPer::Step;
};

struct Noise {
  bool none = false;             // `noise: none`: no expected wait for the slowest rank either
  std::optional<Jitter> jitter;  // set: ranks are drawn, the expected wait is left out
  int runs = 200;                // steady-state steps when there is jitter
};

// How `lockstep measure` measures.
struct MeasureOptions {
  int steps = 30, warm_up = 5, repeats = 3;
  int threads_per_rank = 1;  // also the cores that make a rank of a machine without GPUs
  double timeout_s = 60;
  int gloo_threads = 2;              // of each rank's process group: collectives in flight
  std::optional<double> gil_hold_s;  // of the stand-in for DataParallel: each op holds all replicas' lock so long
};

struct Scenario {
  std::string file;      // where it was read from, for messages
  std::string question;  // may be empty

  std::string model_name;  // zoo name or path of a model file
  ModelOptions model_options;
  std::optional<std::int64_t> per_gpu_batch, global_batch;  // exactly one is set
  Precision precision = Precision::Fp32;
  Switch tf32_conv = Switch::Auto, tf32_matmul = Switch::Auto;

  std::string topology_node;                // preset or path; empty where the nodes differ
  std::vector<std::string> topology_nodes;  // nodes that differ, in order: presets or paths
  std::string topology_fabric;              // preset, path, "own", or empty
  std::optional<int> gpus_per_node;
  std::vector<int> gpu_index;                       // GPUs used on each node, in rank order; empty: the first ones
  std::map<std::string, double> topology_override;  // "nic.rate" -> bytes/s, "nic.latency" -> s

  std::vector<int> gpus;                               // total GPUs, ascending as given
  std::vector<Strategy> strategies = {Strategy::Ddp};  // without Single unless asked for; the baseline is added anyway
  DdpOptions ddp;
  int accumulate_steps = 1;
  bool accumulate_no_sync = true;

  OptimizerKind optimizer = OptimizerKind::SgdMomentum;
  OptimizerImplementation optimizer_implementation = OptimizerImplementation::Foreach;
  ZeroGrad zero_grad = ZeroGrad::Auto;  // auto: none from torch 2.0
  bool weight_decay = true;
  bool clip_grad_norm = false;

  FrontEnd front_end = FrontEnd::Auto;
  HostSync host_sync = HostSync::None;
  std::optional<double> host_factor;  // unset = the node's
  std::optional<int> host_cores;      // of each node; unset = the node's
  InputOptions input;
  LoaderOptions loader;

  std::optional<std::int64_t> data_samples;
  int data_epochs = 1;
  std::int64_t data_validation_samples = 0;
  double data_startup_s = 0;
  std::optional<double> price_per_gpu_hour;  // any currency

  std::string torch_version = "2.11", nccl_version = "2.28.9", cuda_version = "13.0";
  std::optional<double> calibrate_single_gpu;   // samples/s of one GPU
  SampleWord calibrate_word = SampleWord::Any;  // what its unit called a sample
  bool calibrate_in_iterations = false;         // while reading: the number above is it/s; read_scenario converts it
  Noise noise;
  MeasureOptions measure;
  std::uint64_t seed = 1;
};

// torch_version as {major, minor}; "2.11" is newer than "2.9".
struct Version {
  int major = 0, minor = 0;
  auto operator<=>(const Version&) const = default;
};
Version torch_version(const Scenario& scenario);

}  // namespace lockstep
