#include "simulator/cli/measure_crew.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <set>

#include "hwrunner/launch/pinning.h"
#include "hwrunner/measure/python_plan.h"
#include "simulator/base/document.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

// Who cannot take part only wants to say so.
constexpr double kProblemPatience_s = 10;
// A clock that is known no better than this part of a step is worth a note.
constexpr double kWorthANote = 0.01;

// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): the same on every host.
std::string digest_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return fmt::format("{:016x}", hash);
}

std::map<std::string, std::string> plan_of(const MeasureArguments& arguments, const Inputs& inputs) {
  std::string machine;
  for (const std::string& file : inputs.topology.files) machine += read_text_file(file).value_or("");
  return {{"the scenario", digest_of(scenario_yaml(inputs.read))},
          {"the model", digest_of(python_plan(inputs.scenario(), inputs.model))},
          {"the topology", digest_of(machine)},
          {"the options", digest_of(fmt::format("{} {} {} {} {} {}", arguments.here, arguments.paced, arguments.dilate,
                                                arguments.backend, arguments.bench, arguments.profile))}};
}

}  // namespace

Expected<std::optional<CrewPlace>> crew_place(const MeasureArguments& arguments) {
  if (!arguments.rendezvous.empty() || arguments.nodes || arguments.node_rank) {
    auto place = meeting_of(arguments.rendezvous, arguments.nodes, arguments.node_rank);
    if (!place) return tl::unexpected(std::move(place.error()));
    if (place->members == 1) return std::nullopt;
    return *std::move(place);
  }
  const Environment environment = environment_of_process();
  const auto place = place_from_environment(environment);
  if (!place) return tl::unexpected(place.error());
  if (!*place || (*place)->world_size == 1) return std::nullopt;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  return meeting_of(**place, environment);
}

CrewFacts crew_facts(const MeasureArguments& arguments, const CrewPlace& place, const Expected<Inputs>& inputs) {
  CrewFacts mine;
  this_host(mine);
  mine.cores = allowed_cores();
  if (!inputs) {
    mine.problem = to_text(inputs.error().front());
    return mine;
  }
  mine.plan = plan_of(arguments, *inputs);
  if (place.process != "node") return mine;
  const Topology& topology = inputs->topology;
  if (!topology.nodes.empty() && place.number >= static_cast<int>(topology.nodes.size()))
    mine.problem = fmt::format("the scenario has {} nodes", topology.nodes.size());
  else
    mine.ranks = topology.gpus_on(place.number);
  return mine;
}

CrewOptions crew_options(const Expected<Inputs>& inputs, volatile std::sig_atomic_t* stop) {
  CrewOptions options;
  options.patience_s = inputs ? inputs->scenario().measure.timeout_s : kProblemPatience_s;
  options.stop = stop;
  return options;
}

void find_runner(const MeasureArguments& arguments, const Inputs& inputs, CrewOptions& options, CrewFacts& mine) {
  const bool gpus = inputs.topology.node.gpu.vendor != "cpu" && !arguments.paced && !arguments.here;
  const bool nccl = arguments.backend.empty() ? gpus : arguments.backend == "nccl";
  const Backend backend = nccl ? Backend::Nccl : Backend::Gloo;
  const bool python = inputs.scenario().front_end == FrontEnd::Python && !arguments.paced && arguments.bench.empty();
  const auto probe = python ? probe_python_runner(backend) : probe_runner(backend, gpus);
  if (!probe) {
    mine.problem = to_text(probe.error().front());
    return;
  }
  options.program = probe->program;
  options.words = probe->words;
}

void join_world(const World& world, MeasureRequest& request) {
  request.world = &world;
  std::set<int> cores;
  for (const WorldRank& rank : world.ranks)
    if (rank.host == 0) cores.insert(rank.cores.begin(), rank.cores.end());
  use_cores(request.machine, {cores.begin(), cores.end()});
}

void describe_crew(const Crew& crew, Result& result) {
  const World& world = crew.world();
  result.machine["launcher"] = world.launcher;
  result.machine["hosts"] = world.in_words();
  std::vector<std::string> bound;
  for (std::size_t host = 0; host < world.hosts.size(); ++host)
    if (world.bound(static_cast<int>(host))) bound.push_back(world.hosts[host]);
  result.machine["bound_by"] = bound.empty() ? "lockstep" : world.launcher;
  double worst_s = 0;
  std::vector<std::string> clocks;
  for (const HostClock& one : crew.clocks()) {
    clocks.push_back(fmt::format("{}: offset_s {:.9f}, uncertainty_s {:.3g}, drift {:.3g}", one.host,
                                 one.offset.offset_s(), one.offset.uncertainty_s(), one.offset.drift()));
    worst_s = std::max(worst_s, one.offset.uncertainty_s());
  }
  if (clocks.empty()) return;
  result.machine["clocks"] = fmt::format("{}", fmt::join(clocks, "; "));
  for (Run& run : result.runs)
    if (!run.not_run && run.gpus > 1 && worst_s > kWorthANote * run.step_time_s)
      run.notes.push_back(fmt::format("clocks of hosts are known to {}, {:.1f} % of a step", format_time(worst_s),
                                      100 * worst_s / run.step_time_s));
}

}  // namespace lockstep
