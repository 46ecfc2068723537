// How fast the simulator is: ResNet-50 with DDP at op level, on 8 GPUs folded, on 1 024 and 16 384 explicit ranks with
// a jitter in every step, and as a whole process. A table at the end puts each value beside its goal and beside the
// cost of one timer and one flow of SimGrid alone, measured in the same run.
//
//   lockstep_bench [--program=PATH of lockstep; the one beside this program] [options of Google Benchmark]
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "simulator/engine/engine.h"
#include "simulator/estimate/estimate.h"
#include "tests/bench/child.h"
#include "tests/laws/support/points.h"

namespace lockstep::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Line {
  std::string what, goal, value;
  double seconds = 0;  // 0: not a time
};
std::vector<Line>& table() {
  static std::vector<Line> lines;
  return lines;
}
// Google Benchmark calls a benchmark several times until it knows how often to repeat it: the last call counts.
void note(const Line& line) {
  for (Line& known : table())
    if (known.what == line.what) {
      known = line;
      return;
    }
  table().push_back(line);
}
double bare_pair_s = 0;  // one timer and one flow of SimGrid
std::string program;

testing::TestPoint resnet50(int gpus, bool folded, bool copies) {
  testing::TestPoint point;
  point.model_name = "resnet50";
  if (gpus > 8) point.fabric = "ib-hdr-8x200";
  point.gpus = gpus;
  point.batch = 128;
  point.folded = folded;
  if (copies) point.scenario.input.source = InputSource::Host;
  point.load();
  return point;
}

// A timer, then a flow, then the next timer: what no engine on SimGrid can be faster than per collective.
class BareLoop final : public NetworkListener {
 public:
  BareLoop(Network& network, int route, int pairs) : network_(network), route_(route), pairs_(pairs) {}
  void on_wakeup() override {
    if (done_ < 0) {
      done_ = 0;
      network_.set_wakeup(network_.now() + 50e-6);
    } else {
      network_.start_flow(route_, 25'000'000, 0);
    }
  }
  void on_flow_end(std::uint64_t) override {
    if (++done_ < pairs_) network_.set_wakeup(network_.now() + 50e-6);
  }

 private:
  Network& network_;
  int route_, pairs_, done_ = -1;
};

void bare_simgrid(benchmark::State& state) {
  constexpr int kPairs = 1000;
  const auto network = make_simgrid_network();
  const int route = network->add_route({network->add_link("link", 200e9)});
  double spent = 0;
  for (auto _ : state) {
    BareLoop loop(*network, route, kPairs);
    const auto start = Clock::now();
    network->run(loop);
    spent += std::chrono::duration<double>(Clock::now() - start).count();
  }
  bare_pair_s = spent / static_cast<double>(state.iterations()) / kPairs;
  state.counters["pairs"] = benchmark::Counter(kPairs, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(bare_simgrid)->MinTime(1);

void note_rate(const std::string& what, const std::string& goal, double seconds) {
  note({what, goal, fmt::format("{:.0f} /s", 1 / seconds), seconds});
}

template <class Work>
double seconds_each(benchmark::State& state, Work work) {
  const auto start = Clock::now();
  for (auto _ : state) benchmark::DoNotOptimize(work());
  return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(state.iterations());
}

void folded_predictions(benchmark::State& state) {
  const StepGraph graph = resnet50(8, true, false).graph();
  const auto network = make_simgrid_network();
  Engine engine(graph, *network, {});
  note_rate("folded predictions, 8 GPUs, 4 steps", ">= 10000 /s", seconds_each(state, [&] { return engine.run(); }));
}
BENCHMARK(folded_predictions)->MinTime(1);

void estimates(benchmark::State& state) {
  const StepGraph graph = resnet50(8, true, false).graph();
  note_rate("estimates, 8 GPUs, 4 steps", ">= 50000 /s", seconds_each(state, [&] { return estimate(graph, {}); }));
}
BENCHMARK(estimates)->MinTime(1);

void graphs(benchmark::State& state) {
  const testing::TestPoint point = resnet50(8, true, false);
  note_rate("step graphs built", "", seconds_each(state, [&] { return point.graph(); }));
}
BENCHMARK(graphs)->MinTime(0.5);

// Four simulated steps of explicit ranks with jitter in a child; seconds of one step.
ChildReport explicit_ranks(int ranks, bool copies) {
  return in_child([=] {
    const StepGraph graph = resnet50(ranks, false, copies).graph();
    const auto network = make_simgrid_network();
    EngineOptions options;
    options.jitter = {0.05, false, 1};
    options.stop.fixed_steady = 2;
    Engine engine(graph, *network, options);
    const auto start = Clock::now();
    const StepRecord record = engine.run();
    return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(record.steps.size());
  });
}

void step_of_explicit_ranks(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  const bool copies = state.range(1) != 0;
  double least = 1e9, peak = 0;
  for (auto _ : state) {
    const ChildReport report = explicit_ranks(ranks, copies);
    if (!report.ended_well) {
      state.SkipWithError("the child died");
      return;
    }
    state.SetIterationTime(report.value);
    least = std::min(least, report.value);
    peak = std::max(peak, report.peak_bytes);
  }
  const std::string what = fmt::format("{} ranks{}, one step", ranks, copies ? " with contended copies" : "");
  const char* goal = ranks == 1024 ? (copies ? "" : "< 0.03 s") : copies ? "< 3 s" : "< 0.5 s";
  note({what, goal, fmt::format("{:.3f} s", least), least});
  note({fmt::format("{} ranks{}, peak memory", ranks, copies ? " with contended copies" : ""), "< 350 MB",
        fmt::format("{:.0f} MB", peak / 1e6)});
}
BENCHMARK(step_of_explicit_ranks)
    ->Args({1024, 0})
    ->Args({1024, 1})
    ->Args({16384, 0})
    ->Args({16384, 1})
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void whole_process(benchmark::State& state, const std::vector<std::string>& arguments, const std::string& what,
                   const std::string& goal) {
  if (program.empty()) {
    state.SkipWithError("give --program=.../lockstep");
    return;
  }
  std::vector<std::string> command{program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  double least = 1e9;
  for (auto _ : state) {
    const ChildReport report = run_program(command);
    if (!report.ended_well) {
      state.SkipWithError("the program failed");
      return;
    }
    state.SetIterationTime(report.wall_s);
    least = std::min(least, report.wall_s);
  }
  note({what, goal, fmt::format("{:.1f} ms", least * 1e3), least});
}

std::string one_point_scenario() {
  const char* folder = std::getenv("TMPDIR");
  const std::string file = fmt::format("{}/lockstep-bench-{}.yaml", folder == nullptr ? "/tmp" : folder, ::getpid());
  std::ofstream(file) << "model: resnet50\nbatch: {per_gpu: 128}\ntopology: dgx-a100-80gb\ngpus: 8\nstrategy: ddp\n";
  return file;
}

// Points of a sweep by one worker: for each second, and how much a hundred times as many take in memory (parent).
void sweep_points(benchmark::State& state, const std::string& scenario) {
  if (program.empty()) {
    state.SkipWithError("give --program=.../lockstep");
    return;
  }
  const auto run = [&](std::int64_t points, bool estimate) {
    std::string seeds;
    for (std::int64_t i = 1; i <= points; ++i) seeds += fmt::format("{}{}", i == 1 ? "" : ",", i);
    std::vector<std::string> command{program, "sweep", scenario, "--workers",
                                     "1",     "--csv", "--set",  "seed=[" + seeds + "]"};
    if (estimate) command.push_back("--estimate");
    return run_program(command);
  };
  const bool estimate = state.range(0) != 0;
  const std::int64_t points = state.range(1);
  double per_point_s = 1e9, growth = 0;
  for (auto _ : state) {
    const ChildReport few = run(points / 100, estimate), many = run(points, estimate);
    if (!few.ended_well || !many.ended_well) {
      state.SkipWithError("the sweep failed");
      return;
    }
    state.SetIterationTime(many.wall_s);
    per_point_s = std::min(per_point_s, many.wall_s / static_cast<double>(points));
    growth = many.peak_bytes - few.peak_bytes;
  }
  const char* how = estimate ? "estimated" : "simulated";
  note({fmt::format("sweep, {} points on one core", how), "", fmt::format("{:.0f} /s", 1 / per_point_s), per_point_s});
  note({fmt::format("sweep, memory of {} points less that of {}", points, points / 100), "",
        fmt::format("{:.1f} MB", growth / 1e6)});
}

std::string program_beside() {
  std::error_code ignored;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "lockstep";
  return std::filesystem::exists(beside, ignored) ? beside.string() : "";
}

void print_table() {
  std::printf("\nbare SimGrid: %.2f us for a timer and a flow\n\n", bare_pair_s * 1e6);
  std::printf("%-50s %12s %12s %14s\n", "", "goal", "value", "bare pairs");
  for (const Line& line : table()) {
    const std::string ratio =
        line.seconds > 0 && bare_pair_s > 0 ? fmt::format("{:.3g}", line.seconds / bare_pair_s) : "";
    std::printf("%-50s %12s %12s %14s\n", line.what.c_str(), line.goal.c_str(), line.value.c_str(), ratio.c_str());
  }
}

int main_of(int argc, char** argv) {
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.find("--program=") == 0)
      program = argument.substr(10);
    else
      rest.push_back(argv[i]);
  }
  if (program.empty()) program = program_beside();
  const std::string scenario = one_point_scenario();
  const auto process = [](const std::string& name, std::vector<std::string> arguments, const std::string& what,
                          const std::string& goal) {
    benchmark::RegisterBenchmark(name.c_str(),
                                 [=](benchmark::State& state) { whole_process(state, arguments, what, goal); })
        ->Iterations(7)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  };
  process("process_help", {"--help"}, "`lockstep --help`", "");
  process("process_estimate", {"predict", scenario, "--estimate"}, "`lockstep predict --estimate`, one point", "");
  process("process_predict", {"predict", scenario}, "`lockstep predict`, one point", "< 60 ms");
  benchmark::RegisterBenchmark("sweep_points", [=](benchmark::State& state) { sweep_points(state, scenario); })
      ->Args({0, 1000})
      ->Args({1, 10'000})
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
  int count = static_cast<int>(rest.size());
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) return 1;
  benchmark::RunSpecifiedBenchmarks();
  print_table();
  std::remove(scenario.c_str());
  return 0;
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) {
  return lockstep::bench::main_of(argc, argv);
}
