#include "simulator/engine/engine_facts.h"

#include <algorithm>

#include "simulator/base/ensure.h"

namespace lockstep {

EngineFacts::EngineFacts(const StepGraph& graph, Network& network, bool messages) : graph_(graph), network_(network) {
  for (const auto& link : graph.links) links_.push_back(network.add_link(link.id, link.rate));
  for (const auto& program : graph.warm_up) add_program(program, messages);
  add_program(graph.steady, messages);
}

void EngineFacts::add_program(const StepProgram& program, bool messages) {
  ProgramFacts facts{MeetingTable(program, graph_.simulated_ranks()), {}, {}, {}, {}};
  for (int m = 0; m < static_cast<int>(program.meetings.size()); ++m) {
    const Meeting& meeting = program.meetings[static_cast<std::size_t>(m)];
    facts.members.push_back(meeting.own ? std::vector<int>{} : members_of(program, m));
    facts.arrivals.push_back(meeting.own ? 1 : static_cast<int>(facts.members.back().size()));
    host_meetings_ |= meeting.on == ArriveOn::Host;
    facts.routes.emplace_back();
    if (meeting.flow_bytes > 0)
      for (const auto& route : meeting.routes) facts.routes.back().push_back(network_route(route));
    facts.hop_routes.push_back(messages ? hop_routes(meeting) : std::vector<int>{});
  }
  programs_.push_back(std::move(facts));
}

std::vector<int> EngineFacts::members_of(const StepProgram& program, int meeting) const {
  const auto joins = [meeting](const Item& item) { return item.kind == ItemKind::Arrive && item.meeting == meeting; };
  std::vector<int> members;
  int first = 0;
  for (std::size_t c = 0; c < graph_.classes.size(); ++c) {
    const int ranks = graph_.classes[c].folded ? 1 : graph_.classes[c].ranks;
    const auto& items = program.programs[c];
    if (std::any_of(items.begin(), items.end(), joins))
      for (int r = 0; r < ranks; ++r) members.push_back(first + r);
    first += ranks;
  }
  return members;
}

int EngineFacts::network_route(const std::vector<std::int32_t>& route) {
  const auto known = known_routes_.find(route);
  if (known != known_routes_.end()) return known->second;
  std::vector<int> in_network;
  for (const auto link : route) in_network.push_back(links_[static_cast<std::size_t>(link)]);
  return known_routes_[route] = network_.add_route(in_network);
}

std::vector<int> EngineFacts::hop_routes(const Meeting& meeting) {
  std::vector<int> hops;
  if (meeting.ring_steps == 0) return hops;
  const int ranks = meeting.ring_steps / 2 + 1;
  LOCKSTEP_ENSURE(ranks <= kMaxMessageRanks, "message-level ring of {} ranks", ranks);
  double rate = kUnknownTime;
  for (const auto link : meeting.routes[0]) rate = std::min(rate, graph_.links[static_cast<std::size_t>(link)].rate);
  for (int hop = 0; hop < ranks; ++hop) {
    const std::string name = meeting.name + ".hop" + std::to_string(hop);
    hops.push_back(network_.add_route({network_.add_link(name, rate * kMessageScale)}));
  }
  return hops;
}

}  // namespace lockstep
