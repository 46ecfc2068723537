// One training step as a graph of work: for each class of ranks a program (what the host does and launches, in host
// order), and the meetings at which ranks or streams wait for each other, for a copy or for a collective.
//
// A strategy (simulator/strategies) builds a StepGraph; the recurrence (recurrence.h) walks one rank's program between
// meetings; a driver (estimate, engine) says when meetings end. Times in seconds, bytes on the wire as whole bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simulator/result/result.h"
#include "topologies/routes.h"

namespace lockstep {

enum class ItemKind : std::uint8_t {
  Kernel,      // host work, then a kernel on the compute stream
  HostWork,    // host work alone
  Arrive,      // host work, then this rank arrives at a meeting (on: Meeting::on)
  StreamWait,  // the compute stream waits for the end of a meeting that this rank joined earlier
  HostWait,    // the host waits for the end of a meeting
  HostSync,    // the host waits until the compute stream is empty
  LoaderWait,  // the host takes the next batch of its process's loader, and waits until there is one
};

// Where a rank arrives at a meeting, and so what waits for its end.
enum class ArriveOn : std::uint8_t {
  Host,           // the host arrives when it gets there; it is held until the end
  Stream,         // the compute stream arrives when its earlier work is done; it is held until the end
  Communication,  // an event on the compute stream, then the communication stream in issue order; nothing is held
};

struct Item {
  double host_s = 0;    // host time before the launch, host factor included
  double device_s = 0;  // Kernel: time on the compute stream when nothing slows it
  std::int32_t meeting = -1;
  std::int32_t label = -1;  // StepGraph::labels
  ItemKind kind = ItemKind::HostWork;
  Cause cause = Cause::Other;           // what the kernel's time counts as
  Cause host_cause = Cause::HostBound;  // what an idle compute lane counts as while the host does this
};

struct Meeting {
  std::string name;
  ArriveOn on = ArriveOn::Host;
  Cause cause = Cause::ExposedCommunication;  // what waiting for its end counts as, from its start on
  Cause wait_cause = Cause::WaitForPeers;     // what waiting before its start counts as
  int receiver = -1;            // the real rank whose copy it is while others only wait; -1: of all that arrive
  bool own = false;             // true: every rank has one of its own (a copy); false: all arriving ranks share one
  double alpha_s = 0;           // fixed part, paid from the last arrival on
  std::int64_t flow_bytes = 0;  // then so many bytes cross every link of the route
  std::vector<std::vector<std::int32_t>> routes;  // indices into StepGraph::links; [0], or [rank] of an own meeting
  std::vector<bool> holds;         // [class]: the arriving host or stream of this class is held until the end
  int bucket = -1;                 // index of the DDP bucket that is reduced here
  std::int64_t payload_bytes = 0;  // bytes of the tensor (bucket, batch), for people
  std::string algorithm, protocol;
  int channels = 0;
  // The same collective as messages of a ring, for the reference mode (engine/message_level.h); 0 steps = not a ring.
  int ring_steps = 0;       // 2(n-1)
  double ring_fixed_s = 0;  // alpha_s = ring_fixed_s + (ring_steps + ring_tail) * ring_step_s
  double ring_step_s = 0;
  double ring_tail = 0;
};

// The programs of one step: the first steps of DDP differ from the later ones.
struct StepProgram {
  std::vector<Meeting> meetings;
  std::vector<std::vector<Item>> programs;  // [class]
  std::vector<std::int64_t> bucket_bytes;   // in launch order
  int micro_steps = 1;
};

// Ranks with the same program. A folded class is simulated once for all of its ranks.
struct RankClass {
  int first_rank = 0;
  int ranks = 1;        // real ranks
  bool folded = false;  // simulated once (true) or each rank by itself (false)
};

// The data loader of each process, its workers evenly spaced: one batch every period_s, as long as fewer than `depth`
// are in the making or waiting. (Workers that start together hand over in bursts, with the same period on average.) The
// first batch is ready at 0. Work that piled up in the warm-up is none of the steady state, and would hide a loader
// that is a little too slow for many steps: up to the first steady step a host takes a batch only when its stream is
// empty, and the loader starts the next one then.
struct Loader {
  double period_s = 0;
  int depth = 1;
};

struct StepGraph {
  std::vector<StepProgram> warm_up;  // [0] is the first step; may be empty
  StepProgram steady;                // every step after the warm-up
  std::vector<RankClass> classes;
  std::vector<Link> links;  // capacities as the simulated ranks see them (shared links divided when folded)
  std::vector<std::string> labels;
  bool keeps_labels = true;  // false: items have none, for who wants neither timeline nor parts
  std::unordered_map<std::string, std::int32_t> link_index;  // id -> index into links; kept by add_link()
  double launch_latency_s = 8e-6;  // a kernel starts so long after its launch on the host at the earliest
  double contention = 1.15;        // compute takes this factor longer while the communication stream is busy
  bool host_computes = false;  // CPU ranks: the thread that launches a kernel computes it, and runs ahead of nothing
  Loader loader;               // of every LoaderWait

  const StepProgram& program(int step) const {
    return step < static_cast<int>(warm_up.size()) ? warm_up[static_cast<std::size_t>(step)] : steady;
  }
  bool loads_ahead(int step) const { return step > static_cast<int>(warm_up.size()); }
  int simulated_ranks() const;
  int real_ranks() const;
  int class_of(int simulated_rank) const;
  // Ranks that must arrive at a shared meeting of `program` before it starts, counted in simulated ranks.
  int arrivals(const StepProgram& program, int meeting) const;
};

// The host may run so many kernel launches ahead of the GPU; the limit is looked at at every kQueueCheck-th launch.
// Source: the commonly observed depth of the CUDA launch queue, 512 to 1100, not documented by NVIDIA; the stride
// changes a step by less than 1e-9.
inline constexpr int kQueueDepth = 1000;
inline constexpr int kQueueCheck = 8;

// Appends items to one program; keeps labels in the graph. Used by strategies.
class ProgramBuilder {
 public:
  ProgramBuilder(StepGraph& graph, std::vector<Item>& items) : graph_(graph), items_(items) {}
  void kernel(double host_s, double device_s, Cause cause, std::string_view label);
  void host(double host_s, Cause host_cause, std::string_view label);
  void arrive(int meeting, double host_s, std::string_view label);
  void stream_wait(int meeting);
  void host_wait(int meeting);
  void host_sync();
  void loader_wait(std::string_view label);
  bool keeps_labels() const { return graph_.keeps_labels; }
  // What an idle compute lane counts as while the host does the items that follow.
  void set_host_cause(Cause cause) { host_cause_ = cause; }

 private:
  Item& add(ItemKind kind, double host_s, std::string_view label);
  void follow_stream();
  StepGraph& graph_;
  std::vector<Item>& items_;
  Cause host_cause_ = Cause::HostBound;
};

int add_label(StepGraph& graph, std::string_view label);
// Index of a link with this id, added when new.
std::int32_t add_link(StepGraph& graph, const Link& link);

}  // namespace lockstep
