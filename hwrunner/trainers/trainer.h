// One rank that trains: no wrapper, PyTorch's own DistributedDataParallel machinery (c10d::Reducer over Gloo on CPUs),
// or a stand-in for DataParallel with replicas on threads. Made by every rank with its own `group.rank`; all ranks take
// their steps together. Plain C++; times in seconds of this host's monotonic clock.
//
// A step is one optimizer step: gradients are cleared, then `micro_steps` times forward and backward, then the
// optimizer. The data are synthetic and lie ready on the device, or in the host's memory as `input` says; micro-step m
// of rank r sees samples (m x world + r) x batch, ... of the endless sequence that `seed` gives.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hwrunner/trainers/op_classes.h"
#include "models/model.h"
#include "scenarios/scenario.h"
#include "simulator/base/error.h"

namespace lockstep {

class Pace;         // hwrunner/paced/pace.h
class TorchDevice;  // hwrunner/trainers/torch_device.h

struct GroupOptions {
  int rank = 0, world = 1;
  std::string master = "127.0.0.1";  // where rank 0's store (or serve_store's) listens
  int port = 29500;
  bool serve_store = true;   // rank 0 opens the port; false: somebody else did (torchrun's agent, a launcher)
  std::string store_prefix;  // keys begin with it, so that repeats and restarts may share a store
  std::string interface;     // network interface of Gloo; empty: $GLOO_SOCKET_IFNAME, else the host name's address
  int gloo_threads = 2;      // collectives in flight; PyTorch's default is 2
  double store_timeout_s = 60, timeout_s = 60;  // to find each other; of one collective
};

struct TrainerOptions {
  Strategy strategy = Strategy::Single;
  int replicas = 1;        // Dp, DpCpp: of this process, each with its part of the batch
  std::int64_t batch = 1;  // samples of one micro-step of this rank, or of each replica
  int micro_steps = 1;
  bool no_sync = true;  // gradients of all micro-steps but the last stay local
  DdpOptions ddp;
  OptimizerKind optimizer = OptimizerKind::SgdMomentum;
  OptimizerImplementation optimizer_implementation = OptimizerImplementation::Foreach;
  bool weight_decay = true;
  bool clip_grad_norm = false;  // to a norm of 1
  Precision precision = Precision::Fp32;
  Switch tf32_conv = Switch::Auto, tf32_matmul = Switch::Auto;  // of GPUs
  InputOptions input;          // where the batch lies when a step starts; `touched` is not looked at
  bool host_sync = false;      // the host reads the loss after each step, and waits for it
  double gil_hold_s = 0;       // Dp's stand-in: so long an op holds a lock that all replicas share
  bool zero_in_place = false;  // gradients are filled with zeros instead of let go
  std::uint64_t seed = 1;
  int threads = 1;               // of this rank's operators, or of each replica's
  bool instrument = false;       // records each bucket, by a hook (which divides by one kernel more)
  bool evaluation_mode = false;  // batch norms use their statistics, dropouts do nothing: for comparisons
  // Set: nothing is computed, ops and optimizer wait for it (Single and Ddp). Of this rank alone.
  std::shared_ptr<Pace> pace;
  std::shared_ptr<TorchDevice> device;  // empty: the CPU
  // Steps that are given to the device before one is waited for, as in a training loop that reads nothing back. Not
  // with `instrument`.
  int run_ahead = 0;
  int steps = 0;  // that will be asked for, so that none is begun beyond them; 0: nobody knows
  GroupOptions group;
};

// Times from the start of the step.
struct MeasuredBucket {
  int index = 0;           // in launch order
  std::int64_t bytes = 0;  // of the gradients; a hook may send half of it
  double ready_s = 0;      // its last gradient was final
  double launch_s = 0, end_s = 0;
};

struct MeasuredStep {
  double start_s = 0;  // on the monotonic clock, common to all ranks of a host
  double total_s = 0;
  double copy_to_device_s = 0;  // of the batch
  double prepare_s = 0;         // clearing gradients; under DDP also the rebuilding of buckets
  double buffer_broadcast_s = 0, forward_s = 0, backward_s = 0;
  double scatter_s = 0, replicate_s = 0, gather_s = 0, gradient_reduce_s = 0;  // Dp; DpCpp reduces in backward_s
  double exposed_communication_s = 0;  // from the end of the backward pass until the last gradient is back
  double optimizer_s = 0;
  double loss = 0;                      // of the last micro-step
  double late_s = 0;                    // paced: how much too late the CPU came to a wait, at most
  std::vector<MeasuredBucket> buckets;  // instrumented, of the micro-step that synchronises
};

class Trainer {
 public:
  virtual ~Trainer() = default;
  Trainer() = default;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Errors: RunFailed with what LibTorch or Gloo says, e.g. that another rank has gone.
  virtual Expected<MeasuredStep> step() = 0;
  // DDP: bytes of the buckets that the next step would use, in launch order. Before the second step the ones of the
  // first (one bucket, usually), then the rebuilt ones.
  virtual std::vector<std::int64_t> bucket_bytes() const = 0;
  // Gradients after a step, in the model's order; an empty one where a parameter has none.
  virtual std::vector<std::vector<float>> gradients() const = 0;
  virtual std::int64_t peak_memory_bytes() const = 0;  // on the device; 0: the process's memory is all there is
  // Profiles the steps that follow, until profiled(), which gives seconds of all of them by class of op and pass.
  // `trace_file`: where the Chrome trace goes; empty: nowhere. Errors: RunFailed.
  virtual Expected<bool> start_profile() = 0;
  virtual Expected<SecondsByClass> profiled(const std::string& trace_file) = 0;
  virtual std::map<std::string, std::string> device_facts() const = 0;  // TorchDevice::facts
  virtual std::vector<std::string> warnings() const = 0;
  // What PyTorch's own DDP logger says (names as in _get_ddp_logging_data()); empty without DDP.
  virtual std::map<std::string, std::string> ddp_log() const = 0;
};

// DDP: meets the other ranks, checks that all have the same parameters, and sends rank 0's. Errors: NotSupported (a
// model that this cannot run), RunFailed with the rank that did not come.
Expected<std::unique_ptr<Trainer>> make_trainer(std::shared_ptr<const Model> model, const TrainerOptions& options);

// Call first in main: lets TORCH_CPP_LOG_LEVEL silence LibTorch's pages of warnings about lost connections.
void initialise_logging();

}  // namespace lockstep
