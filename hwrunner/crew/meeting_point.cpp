#include "hwrunner/crew/meeting_point.h"

#include <fmt/format.h>

#include <charconv>

namespace lockstep {
namespace {

constexpr int kCandidates = 16, kHighestPort = 65535;

// Names that launchers give a run, beside which another may have the same master and port.
constexpr const char* kNamesOfRuns[] = {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT",
                                        "SLURM_JOB_ID",        "SLURM_STEP_ID",
                                        "PMIX_NAMESPACE",      "OMPI_MCA_ess_base_jobid"};

Error on_command_line(ErrorKind kind, std::string key, std::string found, std::string message, std::string hint) {
  Error error;
  error.kind = kind;
  error.file = "command line";
  error.key = std::move(key);
  error.found = std::move(found);
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

constexpr const char* kExample = "--rendezvous node01:29400 --nodes 2 --node-rank 0 on the first host, 1 on the second";

}  // namespace

CrewPlace meeting_of(const RankPlace& place, const Environment& environment) {
  CrewPlace meeting;
  meeting.launcher = place.launcher;
  meeting.process = "rank";
  meeting.number = place.rank;
  meeting.members = place.world_size;
  meeting.address = place.master_address;
  meeting.token = fmt::format("{} {}:{}", place.launcher, place.master_address, place.master_port);
  for (const char* name : kNamesOfRuns)
    if (const auto at = environment.find(name); at != environment.end()) meeting.token += " " + at->second;
  const int first = place.master_port + (place.agent_store ? 1 : 0);
  for (int i = 0; i < kCandidates; ++i)
    meeting.ports.push_back(first + i <= kHighestPort ? first + i : place.master_port - 1 - i);
  if (place.agent_store) meeting.store = place;
  return meeting;
}

Expected<CrewPlace> meeting_of(const std::string& rendezvous, std::optional<int> nodes, std::optional<int> node_rank) {
  const auto wrong = [](ErrorKind kind, const char* key, std::string found, std::string message) {
    return tl::unexpected(Errors{on_command_line(kind, key, std::move(found), std::move(message), kExample)});
  };
  if (rendezvous.empty())
    return wrong(ErrorKind::Missing, "--rendezvous", "", "--nodes and --node-rank need the host where node 0 listens");
  if (!nodes || !node_rank)
    return wrong(ErrorKind::Missing, nodes ? "--node-rank" : "--nodes", "",
                 "--rendezvous needs to know how many hosts there are and which this is");
  if (*node_rank < 0 || *node_rank >= *nodes)
    return wrong(ErrorKind::Range, "--node-rank", fmt::format("{}", *node_rank),
                 fmt::format("nodes are counted from 0 to {}", *nodes - 1));
  const std::size_t colon = rendezvous.rfind(':');
  int port = 0;
  if (colon != std::string::npos && colon > 0) {
    const char* end = rendezvous.data() + rendezvous.size();
    const auto [after, code] = std::from_chars(rendezvous.data() + colon + 1, end, port);
    if (code != std::errc{} || after != end) port = 0;
  }
  if (port < 1 || port > kHighestPort)
    return wrong(ErrorKind::Syntax, "--rendezvous", rendezvous, "a rendezvous is HOST:PORT, with a port up to 65535");
  CrewPlace meeting;
  meeting.launcher = "--rendezvous";
  meeting.process = "node";
  meeting.number = *node_rank;
  meeting.members = *nodes;
  meeting.address = rendezvous.substr(0, colon);
  if (meeting.address.size() > 2 && meeting.address.front() == '[' && meeting.address.back() == ']')
    meeting.address = meeting.address.substr(1, meeting.address.size() - 2);  // [::1]:29400
  meeting.ports = {port};
  meeting.token = "--rendezvous " + rendezvous;
  return meeting;
}

}  // namespace lockstep
