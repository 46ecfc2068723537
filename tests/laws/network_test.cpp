// The flows of SimGrid as this project uses them: bytes over max-min fair rates, no latency of their own.
#include "simulator/engine/network.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "simulator/engine/engine.h"

namespace lockstep {
namespace {

constexpr double kGB = 1e9;

// Starts each flow at its date and notes when it ends.
class Flows final : public NetworkListener {
 public:
  explicit Flows(Network& network) : network_(network) {}
  void add(double date, int route, std::uint64_t bytes) { waiting_.emplace(date, std::pair{route, bytes}); }
  std::vector<double> run() {
    ends_.assign(waiting_.size(), -1);
    network_.run(*this);
    return ends_;
  }
  void on_wakeup() override {
    while (!waiting_.empty() && waiting_.begin()->first <= network_.now()) {
      const auto [route, bytes] = waiting_.begin()->second;
      waiting_.erase(waiting_.begin());
      network_.start_flow(route, bytes, started_++);
    }
    if (!waiting_.empty()) network_.set_wakeup(waiting_.begin()->first);
  }
  void on_flow_end(std::uint64_t token) override { ends_[token] = network_.now(); }

 private:
  Network& network_;
  std::multimap<double, std::pair<int, std::uint64_t>> waiting_;
  std::uint64_t started_ = 0;
  std::vector<double> ends_;  // in order of their starts
};

TEST(AFlowAlone, TakesItsBytesOverTheSlowestLink) {
  const auto network = make_simgrid_network();
  const int slow = network->add_link("slow", 2 * kGB), quick = network->add_link("quick", 5 * kGB);
  const int route = network->add_route({slow, quick});
  Flows flows(*network);
  flows.add(0.25, route, 1'000'000'000);
  EXPECT_NEAR(flows.run()[0], 0.75, 1e-12);
}

TEST(FlowsOnOneLink, ShareItEvenlyAndTakeOverWhatIsFreed) {
  const auto network = make_simgrid_network();
  const int route = network->add_route({network->add_link("link", 1 * kGB)});
  const int other = network->add_route({0});
  Flows flows(*network);
  flows.add(0, route, 1'000'000'000);
  flows.add(0, other, 500'000'000);
  const auto ends = flows.run();
  EXPECT_NEAR(ends[1], 1.0, 1e-11);  // half the rate each
  EXPECT_NEAR(ends[0], 1.5, 1e-11);  // then alone
}

// Links of 1 and 2 GB/s; one flow over both, one over each: the small link gives half to each of its two, the large
// one the rest to its own.
TEST(FlowsOverSeveralLinks, ShareThemMaxMinFairly) {
  const auto network = make_simgrid_network();
  const int a = network->add_link("a", 1 * kGB), b = network->add_link("b", 2 * kGB);
  const int both = network->add_route({a, b}), first = network->add_route({a}), second = network->add_route({b});
  Flows flows(*network);
  flows.add(0, both, 500'000'000);
  flows.add(0, first, 500'000'000);
  flows.add(0, second, 1'500'000'000);
  const auto ends = flows.run();
  for (const double end : ends) EXPECT_NEAR(end, 1.0, 1e-11);
}

TEST(ALateFlow, SlowsAnEarlierOneFromItsStart) {
  const auto network = make_simgrid_network();
  const int route = network->add_route({network->add_link("link", 1 * kGB)});
  Flows flows(*network);
  flows.add(0, route, 1'000'000'000);
  flows.add(0.5, route, 1'000'000'000);
  const auto ends = flows.run();
  EXPECT_NEAR(ends[0], 1.5, 1e-11);
  EXPECT_NEAR(ends[1], 2.0, 1e-11);
}

// Several flows that end at one date, each of which starts the next one from inside its end.
class Relay final : public NetworkListener {
 public:
  Relay(Network& network, const std::vector<int>& routes, int rounds)
      : network_(network), routes_(routes), left_(routes.size(), rounds) {}
  void on_wakeup() override {
    for (std::size_t r = 0; r < routes_.size(); ++r) start(r);
  }
  void on_flow_end(std::uint64_t token) override {
    ++ended_;
    last_ = network_.now();
    start(token);
  }
  int ended() const { return ended_; }
  double last() const { return last_; }

 private:
  void start(std::size_t r) {
    if (left_[r]-- > 0) network_.start_flow(routes_[r], 1'000'000, r);
  }
  Network& network_;
  std::vector<int> routes_, left_;
  int ended_ = 0;
  double last_ = 0;
};

TEST(FlowsThatEndAtOneDate, MayStartOthersFromTheirEnds) {
  const auto network = make_simgrid_network();
  std::vector<int> routes;
  for (int r = 0; r < 64; ++r) routes.push_back(network->add_route({network->add_link("link", 1 * kGB)}));
  Relay relay(*network, routes, 50);
  network->run(relay);
  EXPECT_EQ(relay.ended(), 64 * 50);
  EXPECT_NEAR(relay.last(), 0.05, 1e-9);
}

StepGraph one_collective(int ranks, double alpha_s, std::int64_t flow_bytes) {
  StepGraph graph;
  graph.classes = {{0, ranks, false}};
  graph.launch_latency_s = 0;
  graph.links = {{"ring", LinkClass::Nvlink, 3 * kGB}};
  Meeting reduce;
  reduce.name = "reduce";
  reduce.on = ArriveOn::Stream;
  reduce.alpha_s = alpha_s;
  reduce.flow_bytes = flow_bytes;
  reduce.holds = {true};
  if (flow_bytes > 0) reduce.routes = {{0}};
  graph.steady.meetings = {reduce};
  graph.steady.programs.resize(1);
  ProgramBuilder(graph, graph.steady.programs[0]).arrive(0, 1e-6, "reduce");
  return graph;
}

TEST(ACollective, TakesAlphaAndItsBytes) {
  for (const std::int64_t bytes : {0, 1, 300, 30'000'000}) {
    const auto times = simulate(one_collective(4, 20e-6, bytes), {}).step_times_s();
    EXPECT_NEAR(times.back(), 20e-6 + static_cast<double>(bytes) / 3e9, 1e-12) << bytes;
  }
}

// 2(n-1) steps of h + S/(n B), started together on n ranks: the closed form of the ring, by single messages.
TEST(ARingOfMessages, HasTheClosedFormOfTheRing) {
  for (const int n : {2, 3, 8, 64}) {
    StepGraph graph = one_collective(n, 0, 0);
    Meeting& ring = graph.steady.meetings[0];
    ring.ring_steps = 2 * (n - 1);
    ring.ring_fixed_s = 10e-6;
    ring.ring_step_s = 3e-6;
    ring.alpha_s = ring.ring_fixed_s + ring.ring_steps * ring.ring_step_s;
    const std::int64_t bytes = 1'000'000 * n;
    ring.flow_bytes = 2 * (n - 1) * bytes / n;
    ring.routes = {{0}};
    EngineOptions options;
    options.messages = true;
    const double closed = 10e-6 + 2 * (n - 1) * (3e-6 + static_cast<double>(bytes) / n / 3e9);
    EXPECT_NEAR(simulate(graph, options).step_times_s().back(), closed, 1e-9 * closed) << n;
    EXPECT_NEAR(simulate(graph, {}).step_times_s().back(), closed, 1e-9 * closed) << n;
  }
}

}  // namespace
}  // namespace lockstep
