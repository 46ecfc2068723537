#include "tests/simulator/support/random_graph.h"

#include <cmath>
#include <random>

namespace lockstep::testing {
namespace {

// One shared or own meeting at the same place of every rank's program.
class Generator {
 public:
  Generator(std::uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {}

  StepGraph make() {
    const int classes = pick(1, 2);
    int first = 0;
    for (int c = 0; c < classes; ++c) {
      const int ranks = pick(1, options_.max_ranks);
      graph_.classes.push_back({first, ranks, false});
      first += ranks;
    }
    graph_.contention = 1 + 0.5 * unit();
    for (int l = 0; l < 4; ++l)
      graph_.links.push_back({"link" + std::to_string(l), LinkClass::Pcie, 1e9 * (1 + 9 * unit())});
    if (options_.loader) graph_.loader = {log_time(5e-5, 5e-3), pick(1, 5)};
    for (int w = pick(0, 2); w > 0; --w) graph_.warm_up.push_back(program());
    graph_.steady = program();
    return graph_;
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  double unit() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  double log_time(double low, double high) { return low * std::pow(high / low, unit()); }

  std::vector<std::int32_t> route() {
    std::vector<std::int32_t> links{static_cast<std::int32_t>(pick(0, 3))};
    if (unit() < 0.5) links.push_back((links[0] + 1) % 4);
    return links;
  }

  int add_meeting(StepProgram& program, ArriveOn on, bool own) {
    Meeting meeting;
    meeting.name = "meeting" + std::to_string(program.meetings.size());
    meeting.on = on;
    meeting.own = own;
    meeting.alpha_s = unit() < 0.3 ? 0 : log_time(1e-6, 2e-4);
    meeting.flow_bytes = unit() < 0.3 ? 0 : pick(1, 3'000'000);
    const int routes = own ? graph_.simulated_ranks() : 1;
    for (int r = 0; r < routes; ++r) meeting.routes.push_back(route());
    for (std::size_t c = 0; c < graph_.classes.size(); ++c)
      meeting.holds.push_back(on != ArriveOn::Communication && (own || c == 0 || unit() < 0.8));
    program.meetings.push_back(meeting);
    return static_cast<int>(program.meetings.size()) - 1;
  }

  void kernels(ProgramBuilder& builder) {
    const int count = options_.long_programs ? pick(100, 700) : pick(0, 12);
    const double typical = log_time(2e-6, 3e-4);
    for (int k = 0; k < count; ++k)
      builder.kernel(log_time(1e-6, 6e-5), typical * (0.2 + 2 * unit()), Cause::Forward, "");
  }

  StepProgram program() {
    StepProgram program;
    program.programs.resize(graph_.classes.size());
    std::vector<ProgramBuilder> builders;
    for (auto& items : program.programs) builders.emplace_back(graph_, items);
    std::vector<int> unfinished;  // launched on the communication stream, not waited for yet
    const int parts = pick(2, 8);
    for (int part = 0; part < parts; ++part) {
      for (auto& builder : builders) {
        if (unit() < 0.9) kernels(builder);
        if (unit() < 0.2) builder.host(log_time(1e-6, 1e-3), Cause::HostBound, "");
        if (unit() < 0.1) builder.host_sync();
        if (options_.loader && unit() < 0.3) builder.loader_wait("");
      }
      const double what = unit();
      if (what < 0.45) {
        unfinished.push_back(join_all(program, builders, ArriveOn::Communication, false));
      } else if (what < 0.65 && options_.copies) {
        join_all(program, builders, unit() < 0.5 ? ArriveOn::Stream : ArriveOn::Host, true);
      } else if (what < 0.8) {
        join_all(program, builders, ArriveOn::Stream, false);
      } else if (options_.host_meetings) {
        join_all(program, builders, ArriveOn::Host, false);
      }
    }
    for (const int meeting : unfinished)
      for (auto& builder : builders) {
        if (unit() < 0.2) builder.host_wait(meeting);
        builder.stream_wait(meeting);
        kernels(builder);
      }
    return program;
  }

  int join_all(StepProgram& program, std::vector<ProgramBuilder>& builders, ArriveOn on, bool own) {
    const int meeting = add_meeting(program, on, own);
    for (auto& builder : builders) builder.arrive(meeting, log_time(1e-6, 3e-5), "");
    return meeting;
  }

  std::mt19937_64 random_;
  RandomGraphOptions options_;
  StepGraph graph_;
};

}  // namespace

StepGraph random_graph(std::uint64_t seed, const RandomGraphOptions& options) {
  return Generator(seed, options).make();
}

StepGraph unfolded(const StepGraph& graph) {
  StepGraph result = graph;
  for (auto& c : result.classes) c.folded = false;
  return result;
}

}  // namespace lockstep::testing
