// The clock of a paced rank walks the simulator's own graph: without collectives it gives the times of the estimate to
// the bit, and the wall clock follows.
#include "hwrunner/paced/pace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

#include "models/derived.h"
#include "simulator/answers/inputs.h"
#include "simulator/estimate/estimate.h"
#include "simulator/steps/buckets.h"
#include "simulator/strategies/strategies.h"

namespace lockstep {
namespace {

Inputs inputs_of(const std::string& text) {
  auto inputs = load_inputs({text, "test.yaml", {}});
  if (!inputs) throw std::runtime_error(to_text(inputs.error().front()));
  return *std::move(inputs);
}

Inputs resnet(const std::string& more = "") {
  return inputs_of(
      "model: {name: resnet18, image: 32, classes: 10, stem: cifar}\n"
      "batch: {per_gpu: 8}\ntopology: dgx-a100-80gb\ngpus: [2]\nstrategy: ddp\n" +
      more);
}

PaceRequest request_of(const Inputs& inputs, Strategy strategy, int gpus, double dilate) {
  PaceRequest request;
  request.point.scenario = &inputs.scenario();
  request.point.model = &inputs.model;
  request.point.topology = &inputs.topology;
  request.point.strategy = strategy;
  request.point.gpus = gpus;
  request.point.per_gpu_batch = *inputs.scenario().per_gpu_batch;
  request.point.micro_steps = inputs.scenario().accumulate_steps;
  request.dilate = dilate;
  return request;
}

std::shared_ptr<Pace> pace_of(const PaceRequest& request) {
  auto pace = Pace::make(request);
  if (!pace) throw std::runtime_error(to_text(pace.error().front()));
  return *std::move(pace);
}

// What a trainer asks of a Pace in one step. `each` is called after each wait.
template <class Each>
void take_step(Pace& pace, const Model& model, int micro_steps, const Each& each) {
  pace.start_step();
  for (int micro = 0; micro < micro_steps; ++micro) {
    pace.before_meeting(micro);
    pace.met();
    for (std::size_t op = 0; op < model.ops.size(); ++op) {
      pace.forward(op);
      each();
    }
    for (const ParameterId id : gradient_order(model)) {
      pace.gradient(id);
      each();
    }
    pace.backward_done();
    pace.reduced();
    each();
  }
  pace.end_step();
  each();
}

void expect_times_of_the_estimate(const Inputs& inputs, Strategy strategy, int rank = 0) {
  PaceRequest request = request_of(inputs, strategy, 1, 1e-9);
  request.rank = rank;
  const auto pace = pace_of(request);
  PointRequest point = request.point;
  point.folded = false;
  StopRule rule;
  rule.fixed_steady = 4;
  const StepRecord record = estimate(build_step_graph(point), rule, jitter_of(inputs.scenario()));
  for (const StepTimes& step : record.steps) {
    take_step(*pace, inputs.model, request.point.micro_steps, [] {});
    EXPECT_EQ(pace->model_s(), step.end);
  }
}

TEST(Pace, OfOneGpuIsThatOfTheEstimate) {
  expect_times_of_the_estimate(resnet(), Strategy::Single);
}
TEST(Pace, OfDdpOnOneGpuIsThatOfTheEstimate) {
  expect_times_of_the_estimate(resnet(), Strategy::Ddp);
}
TEST(Pace, WithLargeBatchesThatTheGpuLimitsIsThatOfTheEstimate) {
  expect_times_of_the_estimate(
      inputs_of("model: resnet50\nbatch: {per_gpu: 128}\ntopology: dgx-a100-80gb\ngpus: [2]\n"), Strategy::Ddp);
}
TEST(Pace, WithAccumulationIsThatOfTheEstimate) {
  expect_times_of_the_estimate(resnet("accumulate: {steps: 3}\n"), Strategy::Ddp);
  expect_times_of_the_estimate(resnet("accumulate: {steps: 3, no_sync: false}\n"), Strategy::Ddp);
}
TEST(Pace, WithTheCopyOfTheBatchIsThatOfTheEstimate) {
  expect_times_of_the_estimate(resnet("input: {source: host, memory: pinned}\n"), Strategy::Single);
  expect_times_of_the_estimate(resnet("input: {source: host, memory: pageable}\n"), Strategy::Ddp);
}
TEST(Pace, WithGradientsKeptIsThatOfTheEstimate) {
  expect_times_of_the_estimate(resnet("optimizer: {zero_grad: zeros}\n"), Strategy::Ddp);
}
TEST(Pace, WithJitterHasTheDrawsOfTheEstimate) {
  expect_times_of_the_estimate(resnet("noise: {jitter: {sigma: 0.1}}\nseed: 7\n"), Strategy::Ddp);
}
TEST(Pace, OfATransformerWithTiedWeightsIsThatOfTheEstimate) {
  expect_times_of_the_estimate(inputs_of("model: gpt2\nbatch: {per_gpu: 1}\ntopology: dgx-a100-80gb\ngpus: [2]\n"),
                               Strategy::Ddp);
}

TEST(Pace, OfACoreThatComputesItselfIsThatOfTheEstimate) {
  const char* machine =
      "model: resnet18\nbatch: {per_gpu: 2}\ntopology: {node: cpu-host, gpus_per_node: 2}\ngpus: [2]\n";
  expect_times_of_the_estimate(inputs_of(machine), Strategy::Single);
  expect_times_of_the_estimate(inputs_of(machine), Strategy::Ddp);
}

TEST(Pace, DrawsItsOwnJitterForEachRankAndStep) {
  const Inputs inputs = resnet("noise: {jitter: {sigma: 0.1}}\n");
  PaceRequest request = request_of(inputs, Strategy::Ddp, 1, 1e-9);
  const double sigma = jitter_of(inputs.scenario()).sigma;
  EXPECT_GT(sigma, 0);
  const auto pace = pace_of(request);
  std::vector<double> work;
  for (int step = 0; step < 3; ++step) {
    take_step(*pace, inputs.model, 1, [] {});
    work.push_back(pace->work_s() / jitter_of(inputs.scenario()).factor(0, step));
  }
  EXPECT_NE(jitter_of(inputs.scenario()).factor(0, 1), jitter_of(inputs.scenario()).factor(0, 2));
  EXPECT_NE(jitter_of(inputs.scenario()).factor(0, 1), jitter_of(inputs.scenario()).factor(1, 1));
  EXPECT_NEAR(work[1], work[2], 1e-12);
}

// Lower bounds only: nothing says how much later a busy machine comes.
TEST(Pace, NoWaitEndsBeforeItsTimeOnTheWallClock) {
  const Inputs inputs = resnet();
  constexpr double kDilate = 20;
  const auto pace = pace_of(request_of(inputs, Strategy::Ddp, 1, kDilate));
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  double earlier_s = 0;
  for (int step = 0; step < 2; ++step) {
    take_step(*pace, inputs.model, 1, [&] {
      const double wall_s = std::chrono::duration<double>(Clock::now() - start).count();
      EXPECT_GE(wall_s, (earlier_s + pace->work_s()) * kDilate);
      EXPECT_GE(wall_s, pace->model_s() * kDilate * (1 - 1e-9));
    });
    EXPECT_GT(pace->work_s(), 1e-3);
    earlier_s += pace->work_s();
  }
}

TEST(Pace, MarksFollowTheOrderOfOpsAndGradients) {
  for (const auto& [name, node] : std::vector<std::pair<const char*, const char*>>{{"resnet18", "dgx-a100-80gb"},
                                                                                   {"squeezenet1-0", "dgx-a100-80gb"},
                                                                                   {"densenet121", "dgx-a100-80gb"},
                                                                                   {"mobilenet-v2", "dgx-a100-80gb"},
                                                                                   {"gpt2", "dgx-a100-80gb"},
                                                                                   {"resnet18", "cpu-host"}}) {
    const Inputs inputs = inputs_of(fmt::format(
        "model: {}\nbatch: {{per_gpu: 2}}\ntopology: {}\ngpus: [4]\nddp: {{bucket_cap: 1MiB}}\n", name, node));
    PointRequest point = request_of(inputs, Strategy::Ddp, 4, 1).point;
    point.folded = false;
    const StepContext context(point);
    const StepGraph graph = build_step_graph(context);
    const ProgramMarks marks = pace_marks(graph.steady, 0, context);
    const PaceMarks& micro = marks.micro.front();
    int last = micro.meet;
    for (std::size_t op = 0; op < inputs.model.ops.size(); ++op) {
      EXPECT_GE(micro.forward[op], last) << name;
      last = micro.forward[op];
    }
    for (const ParameterId id : gradient_order(inputs.model)) {
      EXPECT_GE(micro.gradient[static_cast<std::size_t>(id)], last) << name;
      last = micro.gradient[static_cast<std::size_t>(id)];
    }
    EXPECT_GE(micro.backward, last);
    EXPECT_GT(micro.reduced, micro.backward);
    EXPECT_EQ(marks.launched.size(), graph.steady.bucket_bytes.size()) << name;
    EXPECT_EQ(marks.launched.back(), micro.backward);
  }
}

void expect_refused(const Inputs& inputs, Strategy strategy, const std::string& key) {
  const auto pace = Pace::make(request_of(inputs, strategy, 2, 1));
  ASSERT_FALSE(pace);
  EXPECT_EQ(pace.error().front().kind, ErrorKind::NotSupported);
  EXPECT_EQ(pace.error().front().key, key);
}

TEST(Pace, WhatHasNoRealCounterpartIsRefusedByName) {
  expect_refused(resnet(), Strategy::Dp, "strategy");
  expect_refused(resnet(), Strategy::DpCpp, "strategy");
  expect_refused(resnet("ddp: {static_graph: true}\n"), Strategy::Ddp, "ddp.static_graph");
  expect_refused(resnet("ddp: {find_unused_parameters: true}\n"), Strategy::Ddp, "ddp.find_unused_parameters");
}

}  // namespace
}  // namespace lockstep
