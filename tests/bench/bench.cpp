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

// 10 or 1 batches x 10 numbers of GPUs x 10 bucket sizes x 10 rates of the network.
std::string grid_scenario(int batches) {
  const char* folder = std::getenv("TMPDIR");
  const std::string file =
      fmt::format("{}/lockstep-bench-{}-{}.yaml", folder == nullptr ? "/tmp" : folder, ::getpid(), batches);
  const char* const all = "16, 32, 48, 64, 96, 128, 160, 192, 224, 256";
  std::ofstream(file)
      << "model: resnet50\nbatch: {per_gpu: [" << (batches == 1 ? "128" : all)
      << "]}\ntopology: {node: dgx-a100-80gb, fabric: ib-hdr-8x200, override: {nic.rate: [25Gb/s, 50Gb/s, "
         "75Gb/s, 100Gb/s, 125Gb/s, 150Gb/s, 175Gb/s, 200Gb/s, 300Gb/s, 400Gb/s]}}\n"
         "gpus: [8, 16, 24, 32, 48, 64, 96, 128, 192, 256]\nstrategy: ddp\nddp: {bucket_cap: [1MiB, "
         "5MiB, 10MiB, 15MiB, 20MiB, 25MiB, 40MiB, 50MiB, 75MiB, 100MiB]}\n";
  return file;
}

// Points per second and core of the cores' time (user and system, workers and what they fork included), and the peak
// memory of the parent and of the largest of its workers at 1 000 and at 10 000 points.
void sweep_points(benchmark::State& state) {
  if (program.empty()) {
    state.SkipWithError("give --program=.../lockstep");
    return;
  }
  const bool estimate = state.range(0) != 0;
  const auto run = [&](int batches) {
    const std::string scenario = grid_scenario(batches);
    std::vector<std::string> command{program, "sweep", scenario, "--csv"};
    if (estimate) command.push_back("--estimate");
    const WatchedReport report = watch_program(command);
    std::remove(scenario.c_str());
    return report;
  };
  WatchedReport few, many;
  for (auto _ : state) {
    few = run(1);
    many = run(10);
    if (!few.ended_well || !many.ended_well) {
      state.SkipWithError("the sweep failed");
      return;
    }
    state.SetIterationTime(many.wall_s);
  }
  const std::string how = estimate ? "estimated" : "simulated";
  const double per_point_s = many.cpu_s / 10'000;
  note({"sweep, points " + how + " per second and core", "", fmt::format("{:.0f} /s", 1 / per_point_s), per_point_s});
  note({"sweep, 10 000 points " + how + ", wall", "", fmt::format("{:.1f} s", many.wall_s)});
  const auto memory = [&](const char* whose, double at_few, double at_many) {
    note({fmt::format("sweep, {}, {} at 1 000 points", how, whose), "", fmt::format("{:.1f} MB", at_few / 1e6)});
    note({fmt::format("sweep, {}, {} at 10 000, ratio", how, whose), "< 1.1", fmt::format("{:.2f}", at_many / at_few)});
  };
  memory("parent", few.own_peak_bytes, many.own_peak_bytes);
  memory("a worker", few.forked_peak_bytes, many.forked_peak_bytes);
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
  benchmark::RegisterBenchmark("sweep_points", sweep_points)
      ->Arg(0)
      ->Arg(1)
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
