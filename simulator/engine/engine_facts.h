// What of a StepGraph does not change while it runs: who joins which meeting, where meetings stand in the tables, and
// which routes of the network they use. Made once; links and routes are added to the network.
#pragma once

#include <map>
#include <vector>

#include "simulator/engine/network.h"
#include "simulator/steps/step_graph.h"
#include "simulator/steps/step_record.h"

namespace lockstep {

// Messages of the reference mode are sent in units of 2^-20 byte over links that much faster: SimGrid takes whole
// bytes.
inline constexpr double kMessageScale = 1048576;
inline constexpr int kMaxMessageRanks = 64;

// Of one kind of step (warm-up 0, 1, ..., steady).
struct ProgramFacts {
  MeetingTable table;
  std::vector<int> arrivals;                 // [meeting] simulated ranks that must arrive
  std::vector<std::vector<int>> members;     // [meeting] those ranks; empty for own meetings
  std::vector<std::vector<int>> routes;      // [meeting][route] routes of the network
  std::vector<std::vector<int>> hop_routes;  // [meeting][hop] message-level routes
};

class EngineFacts {
 public:
  EngineFacts(const StepGraph& graph, Network& network, bool messages);
  const ProgramFacts& of_step(int step) const {
    return programs_[std::min(static_cast<std::size_t>(step), programs_.size() - 1)];
  }
  bool host_meetings() const { return host_meetings_; }  // some host arrives somewhere

 private:
  void add_program(const StepProgram& program, bool messages);
  std::vector<int> members_of(const StepProgram& program, int meeting) const;
  int network_route(const std::vector<std::int32_t>& route);
  std::vector<int> hop_routes(const Meeting& meeting);

  const StepGraph& graph_;
  Network& network_;
  std::vector<int> links_;  // of the network, as in graph_.links
  std::map<std::vector<std::int32_t>, int> known_routes_;
  std::vector<ProgramFacts> programs_;  // warm-up programs, then steady
  bool host_meetings_ = false;
};

}  // namespace lockstep
