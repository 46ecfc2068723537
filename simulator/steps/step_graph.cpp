#include "simulator/steps/step_graph.h"

#include <algorithm>

#include "simulator/base/ensure.h"

namespace lockstep {

int StepGraph::simulated_ranks() const {
  int total = 0;
  for (const auto& c : classes) total += c.folded ? 1 : c.ranks;
  return total;
}

int StepGraph::real_ranks() const {
  int total = 0;
  for (const auto& c : classes) total += c.ranks;
  return total;
}

int StepGraph::class_of(int simulated_rank) const {
  int first = 0;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    first += classes[c].folded ? 1 : classes[c].ranks;
    if (simulated_rank < first) return static_cast<int>(c);
  }
  LOCKSTEP_ENSURE(false, "rank {} of {}", simulated_rank, simulated_ranks());
}

int StepGraph::arrivals(const StepProgram& program, int meeting) const {
  int expected = 0;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const auto joins = std::any_of(program.programs[c].begin(), program.programs[c].end(), [meeting](const Item& item) {
      return item.kind == ItemKind::Arrive && item.meeting == meeting;
    });
    if (joins) expected += classes[c].folded ? 1 : classes[c].ranks;
  }
  return expected;
}

Item& ProgramBuilder::add(ItemKind kind, double host_s, std::string_view label) {
  Item item;
  item.kind = kind;
  item.host_s = host_s;
  item.host_cause = host_cause_;
  item.label = label.empty() || !graph_.keeps_labels ? -1 : add_label(graph_, label);
  items_.push_back(item);
  return items_.back();
}

void ProgramBuilder::kernel(double host_s, double device_s, Cause cause, std::string_view label) {
  Item& item = add(ItemKind::Kernel, host_s, label);
  item.device_s = device_s;
  item.cause = cause;
  follow_stream();
}

// Where the host computes itself its clock is the stream's.
void ProgramBuilder::follow_stream() {
  if (graph_.host_computes) host_sync();
}

void ProgramBuilder::host(double host_s, Cause host_cause, std::string_view label) {
  if (host_s <= 0) return;
  add(ItemKind::HostWork, host_s, label).host_cause = host_cause;
}

void ProgramBuilder::arrive(int meeting, double host_s, std::string_view label) {
  add(ItemKind::Arrive, host_s, label).meeting = meeting;
}

void ProgramBuilder::stream_wait(int meeting) {
  add(ItemKind::StreamWait, 0, "").meeting = meeting;
  follow_stream();
}
void ProgramBuilder::host_wait(int meeting) {
  add(ItemKind::HostWait, 0, "").meeting = meeting;
}
void ProgramBuilder::host_sync() {
  add(ItemKind::HostSync, 0, "");
}

void ProgramBuilder::loader_wait(std::string_view label) {
  add(ItemKind::LoaderWait, 0, label).host_cause = Cause::Input;
}

int add_label(StepGraph& graph, std::string_view label) {
  graph.labels.emplace_back(label);
  return static_cast<int>(graph.labels.size()) - 1;
}

std::int32_t add_link(StepGraph& graph, const Link& link) {
  LOCKSTEP_ENSURE(link.rate > 0, "link {} has rate {}", link.id, link.rate);
  const auto [entry, added] = graph.link_index.try_emplace(link.id, static_cast<std::int32_t>(graph.links.size()));
  if (added) graph.links.push_back(link);
  return entry->second;
}

}  // namespace lockstep
