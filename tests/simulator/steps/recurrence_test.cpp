// The recurrence of one rank against times worked out by hand. Microseconds.
#include "simulator/steps/recurrence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace lockstep {
namespace {

constexpr double kUs = 1e-6;

struct Kernel {
  double host_until, start, end;
};

struct Recorder {
  std::vector<Kernel> kernels;
  std::vector<std::pair<double, double>> waits, loads;
  void kernel(const Item&, double, double host_until, double, double start, double end, double) {
    kernels.push_back({host_until / kUs, start / kUs, end / kUs});
  }
  void host(const Item& item, double from, double until) {
    if (item.kind == ItemKind::LoaderWait) loads.emplace_back(from / kUs, until / kUs);
  }
  void stream_waits(const Item&, double from, double until) { waits.emplace_back(from / kUs, until / kUs); }
};

struct Environment {
  std::map<int, double> ends;  // us
  double jitter = 1;
  double end_of(int, int meeting) const {
    const auto found = ends.find(meeting);
    return found == ends.end() ? kUnknownTime : found->second * kUs;
  }
  double factor(int) const { return jitter; }
};

// One rank of one class; latency 8 us unless changed.
class OneRank : public ::testing::Test {
 protected:
  OneRank() : program(graph, (graph.steady.programs.resize(1), graph.steady.programs[0])) {
    graph.classes = {{0, 1, false}};
    graph.launch_latency_s = 8 * kUs;
    graph.contention = 2;
  }
  void kernel(double host_us, double device_us) { program.kernel(host_us * kUs, device_us * kUs, Cause::Forward, ""); }
  int meeting(ArriveOn on, bool holds) {
    Meeting m;
    m.name = "meeting";
    m.on = on;
    m.holds = {holds};
    graph.steady.meetings.push_back(m);
    return static_cast<int>(graph.steady.meetings.size()) - 1;
  }
  Stop go(std::int64_t launch_limit = std::numeric_limits<std::int64_t>::max()) {
    return walk(graph, 0, cursor, window, queue, environment, recorder, launch_limit);
  }
  // Steps of one batch and `host_us` of work each; when each batch was asked for and taken.
  void load(double period_us, int depth, const std::vector<double>& host_us) {
    graph.loader = {period_us * kUs, depth};
    program.loader_wait("batch");
    program.host(1, Cause::HostBound, "work");
    for (const double us : host_us) {
      graph.steady.programs[0].back().host_s = us * kUs;
      go();
      next_step(cursor);
    }
  }
  void expect_taken(const std::vector<double>& expected) {
    ASSERT_EQ(recorder.loads.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(recorder.loads[i].second, expected[i], 1e-9) << "batch " << i;
  }

  void expect_kernels(const std::vector<Kernel>& expected) {
    ASSERT_EQ(recorder.kernels.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(recorder.kernels[i].host_until, expected[i].host_until, 1e-9) << "kernel " << i;
      EXPECT_NEAR(recorder.kernels[i].start, expected[i].start, 1e-9) << "kernel " << i;
      EXPECT_NEAR(recorder.kernels[i].end, expected[i].end, 1e-9) << "kernel " << i;
    }
  }

  StepGraph graph;
  ProgramBuilder program;
  Cursor cursor;
  SlowWindow window;
  LaunchQueue queue;
  Environment environment;
  Recorder recorder;
};

TEST_F(OneRank, IsBoundByTheHostWhenKernelsAreShort) {
  for (int i = 0; i < 3; ++i) kernel(10, 2);
  const Stop stop = go();
  expect_kernels({{10, 18, 20}, {20, 28, 30}, {30, 38, 40}});
  EXPECT_EQ(stop.kind, StopKind::StepEnd);
  EXPECT_NEAR(stop.date, 40 * kUs, 1e-15);
}

TEST_F(OneRank, IsBoundByTheDeviceWhenKernelsAreLong) {
  for (int i = 0; i < 3; ++i) kernel(10, 50);
  go();
  expect_kernels({{10, 18, 68}, {20, 68, 118}, {30, 118, 168}});
}

TEST_F(OneRank, ChangesItsBoundLaunchByLaunch) {
  kernel(10, 50);
  kernel(10, 2);
  program.host(100 * kUs, Cause::HostBound, "pause");
  kernel(10, 5);
  go();
  expect_kernels({{10, 18, 68}, {20, 68, 70}, {130, 138, 143}});
}

TEST_F(OneRank, TakesJitterOnKernelsOnly) {
  environment.jitter = 1.5;
  kernel(10, 20);
  kernel(10, 20);
  go();
  expect_kernels({{10, 18, 48}, {20, 48, 78}});
}

TEST_F(OneRank, CarriesHostAndStreamIntoTheNextStep) {
  kernel(10, 50);
  go();
  next_step(cursor);
  go();
  expect_kernels({{10, 18, 68}, {20, 68, 118}});
}

TEST_F(OneRank, WaitsForItsStreamAtASynchronisation) {
  kernel(10, 50);
  program.host_sync();
  kernel(10, 5);
  go();
  expect_kernels({{10, 18, 68}, {78, 86, 91}});
}

TEST_F(OneRank, StopsWhereItsHostArrives) {
  kernel(10, 50);
  program.arrive(meeting(ArriveOn::Host, true), 7 * kUs, "copy");
  kernel(10, 5);
  const Stop stop = go();
  EXPECT_EQ(stop.kind, StopKind::Arrive);
  EXPECT_NEAR(stop.date, 17 * kUs, 1e-15);  // the host does not wait for the stream
  pass_arrival(graph, 0, cursor, stop.date, 200 * kUs, recorder);
  go();
  expect_kernels({{10, 18, 68}, {210, 218, 223}});
}

TEST_F(OneRank, StopsWhereItsStreamArrives) {
  kernel(10, 50);
  program.arrive(meeting(ArriveOn::Stream, true), 7 * kUs, "reduce");
  kernel(10, 5);
  const Stop stop = go();
  EXPECT_NEAR(stop.date, 68 * kUs, 1e-15);
  pass_arrival(graph, 0, cursor, stop.date, 100 * kUs, recorder);
  go();
  expect_kernels({{10, 18, 68}, {27, 100, 105}});
  EXPECT_THAT(recorder.waits, ::testing::ElementsAre(
                                  ::testing::Pair(::testing::DoubleNear(68, 1e-9), ::testing::DoubleNear(100, 1e-9))));
}

TEST_F(OneRank, ArrivesOnAnIdleStreamOneLatencyAfterItsLaunch) {
  program.arrive(meeting(ArriveOn::Stream, true), 7 * kUs, "reduce");
  EXPECT_NEAR(go().date, 15 * kUs, 1e-15);
}

TEST_F(OneRank, GoesOnAfterALaunchOnTheCommunicationStream) {
  const int reduce = meeting(ArriveOn::Communication, false);
  kernel(10, 20);
  program.arrive(reduce, 0, "all-reduce");
  kernel(10, 20);
  program.stream_wait(reduce);
  kernel(10, 20);
  const Stop launch = go();
  EXPECT_NEAR(launch.date, 38 * kUs, 1e-15);
  pass_arrival(graph, 0, cursor, launch.date, kUnknownTime, recorder);
  EXPECT_EQ(go().kind, StopKind::Parked);  // the end of the collective is not known
  environment.ends[reduce] = 90;
  go();
  expect_kernels({{10, 18, 38}, {20, 38, 58}, {30, 90, 110}});
}

TEST_F(OneRank, HoldsItsHostWhereItReadsAResult) {
  const int reduce = meeting(ArriveOn::Communication, false);
  program.arrive(reduce, 0, "broadcast");
  program.host_wait(reduce);
  kernel(10, 20);
  pass_arrival(graph, 0, cursor, go().date, kUnknownTime, recorder);
  environment.ends[reduce] = 90;
  go();
  expect_kernels({{100, 108, 128}});
}

TEST_F(OneRank, IsSlowedWhileTheWindowIsOpen) {
  window = {30 * kUs, 60 * kUs};
  kernel(10, 20);  // 18 to 30 alone, 8 us of work left at half speed
  kernel(10, 20);  // 7 us of work until 60, 13 after
  go();
  expect_kernels({{10, 18, 46}, {20, 46, 73}});
}

TEST_F(OneRank, StopsForConfirmationAtTheLaunchLimit) {
  for (int i = 0; i < 3; ++i) kernel(10, 2);
  const Stop stop = go(2);
  EXPECT_EQ(stop.kind, StopKind::Milestone);
  EXPECT_EQ(cursor.launches, 2);
  go();
  EXPECT_EQ(recorder.kernels.size(), 3U);
}

TEST_F(OneRank, BlocksItsHostWhenTheLaunchQueueIsFull) {
  for (int i = 0; i < 2000; ++i) kernel(1, 100);
  go();
  const auto& kernels = recorder.kernels;
  EXPECT_NEAR(kernels[1008].host_until, 1009, 1e-6);     // start of launch 8 was at 809
  EXPECT_NEAR(kernels[1016].host_until, 1609, 1e-6);     // start of launch 16
  EXPECT_NEAR(kernels[1017].host_until, 1610, 1e-6);     // looked at at every 8th launch only
  EXPECT_NEAR(kernels[1024].host_until, 2409, 1e-6);     // start of launch 24
  EXPECT_NEAR(kernels[1999].end, 9 + 100 * 2000, 1e-6);  // the stream never starves
}

TEST_F(OneRank, NeverWaitsForALoaderThatIsFaster) {
  load(90, 2, {100, 100, 100, 100, 100});
  expect_taken({0, 100, 200, 300, 400});
  for (const auto& [asked, taken] : recorder.loads) EXPECT_EQ(asked, taken);
}

TEST_F(OneRank, TakesThePeriodOfALoaderThatIsSlower) {
  load(130, 4, {100, 100, 100, 100, 100, 100});
  expect_taken({0, 130, 260, 390, 520, 650});
  EXPECT_NEAR(recorder.loads[3].first, 360, 1e-9);  // asked for, 30 us before it is there
}

TEST_F(OneRank, LivesOnBatchesLoadedAheadAfterASlowStep) {
  // In the slow third step, 200 to 600, four batches get ready (270, 360, 450, 540). Faster steps use them up.
  load(90, 4, {100, 100, 400, 10, 10, 10, 10, 10, 10});
  expect_taken({0, 100, 200, 600, 610, 620, 630, 690, 780});
}

TEST_F(OneRank, LoadsNoMoreAheadThanTheDepth) {
  load(90, 1, {100, 100, 400, 10, 10, 10});
  expect_taken({0, 100, 200, 600, 690, 780});
}

TEST_F(OneRank, KeepsNothingThatWasLoadedAheadInTheFirstSteadyStep) {
  load(90, 4, {400, 10, 10, 10});
  expect_taken({0, 400, 410, 420});  // 90 is taken at 400, and 180 and 270 wait
  recorder.loads.clear();
  cursor = {};
  graph.warm_up = {graph.steady};
  for (const double us : {400.0, 10.0, 10.0, 10.0}) {
    for (auto* step : {&graph.warm_up[0], &graph.steady}) step->programs[0].back().host_s = us * kUs;
    go();
    next_step(cursor);
  }
  expect_taken({0, 400, 490, 580});
}

TEST(AStretchedKernel, IsPricedPieceByPiece) {
  const SlowWindow window{10, 20};
  EXPECT_EQ(stretched_end(0, 5, window, 2), 5);    // before
  EXPECT_EQ(stretched_end(5, 5, window, 2), 10);   // up to its start
  EXPECT_EQ(stretched_end(8, 4, window, 2), 14);   // into it
  EXPECT_EQ(stretched_end(8, 10, window, 2), 23);  // across it: 2 + 5 in 10 + 3
  EXPECT_EQ(stretched_end(12, 2, window, 2), 16);  // inside
  EXPECT_EQ(stretched_end(18, 5, window, 2), 24);  // out of it
  EXPECT_EQ(stretched_end(20, 3, window, 2), 23);  // after
  EXPECT_EQ(stretched_end(12, 100, {10, kUnknownTime}, 2), 212);
  EXPECT_EQ(stretched_end(8, 10, window, 1), 18);
}

TEST(TheSlowWindow, GrowsOverBackToBackOperationsOnly) {
  SlowWindow window;
  EXPECT_FALSE(window.open());
  extend_window(window, 10, kUnknownTime);
  EXPECT_TRUE(window.open());
  window.until = 20;
  extend_window(window, 20, 30);
  EXPECT_EQ(window.from, 10);
  extend_window(window, 40, 50);
  EXPECT_EQ(window.from, 40);
  EXPECT_EQ(window.until, 50);
}

}  // namespace
}  // namespace lockstep
