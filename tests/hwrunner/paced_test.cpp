// Paced training between real processes: computing waits, and the Reducer, its buckets, their order and the all-reduce
// are real.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "hwrunner/paced/pace.h"
#include "hwrunner/trainers/trainer.h"
#include "models/derived.h"
#include "simulator/answers/inputs.h"
#include "simulator/steps/buckets.h"
#include "tests/hwrunner/ranks.h"

namespace lockstep {
namespace {

constexpr int kWorld = 2;

Inputs inputs_of(const std::string& model, const std::string& more) {
  auto inputs = load_inputs(
      {"model: " + model + "\nbatch: {per_gpu: 4}\ntopology: dgx-a100-80gb\ngpus: [2]\n" + more, "test.yaml", {}});
  if (!inputs) throw std::runtime_error(to_text(inputs.error().front()));
  return *std::move(inputs);
}

// The trainer of a paced rank, as fast as its CPU can.
Expected<std::unique_ptr<Trainer>> paced_trainer(const Inputs& inputs, int rank, int port, bool instrument = false) {
  PaceRequest request;
  request.point.scenario = &inputs.scenario();
  request.point.model = &inputs.model;
  request.point.topology = &inputs.topology;
  request.point.strategy = Strategy::Ddp;
  request.point.gpus = kWorld;
  request.point.per_gpu_batch = *inputs.scenario().per_gpu_batch;
  request.point.micro_steps = inputs.scenario().accumulate_steps;
  request.rank = rank;
  request.dilate = 0.1;
  auto pace = Pace::make(request);
  if (!pace) return tl::make_unexpected(pace.error());
  TrainerOptions options;
  options.strategy = Strategy::Ddp;
  options.batch = request.point.per_gpu_batch;
  options.micro_steps = request.point.micro_steps;
  options.no_sync = inputs.scenario().accumulate_no_sync;
  options.ddp = inputs.scenario().ddp;
  options.pace = *pace;
  options.instrument = instrument;
  options.group.rank = rank;
  options.group.world = kWorld;
  options.group.port = port;
  options.group.interface = "lo";
  options.group.gloo_threads = 1;
  return make_trainer(std::make_shared<const Model>(inputs.model), options);
}

using Report = std::function<void(Trainer&, const MeasuredStep&, RankReport&)>;

// Both ranks take `steps` steps; `report` after each.
std::vector<RankReport> train(const Inputs& inputs, int steps, const Report& report, bool instrument = false) {
  const int port = free_port();
  return run_ranks(kWorld, [&](int rank) -> RankReport {
    auto trainer = paced_trainer(inputs, rank, port, instrument);
    if (!trainer) return {{}, to_text(trainer.error().front())};
    RankReport result;
    for (int i = 0; i < steps; ++i) {
      const auto step = (*trainer)->step();
      if (!step) return {{}, to_text(step.error().front())};
      report(**trainer, *step, result);
    }
    return result;
  });
}

void report_buckets(Trainer& trainer, const MeasuredStep&, RankReport& report) {
  report.numbers.push_back(0);
  for (const std::int64_t bytes : trainer.bucket_bytes()) report.numbers.push_back(static_cast<double>(bytes));
}

void expect_predicted_buckets(const Inputs& inputs) {
  const std::vector<RankReport> ranks = train(inputs, 3, report_buckets);
  const BucketPhases phases = bucket_phases(inputs.model, inputs.scenario().ddp, {2, 11});
  std::vector<double> expected;
  for (const auto* buckets : {&phases.initial, &phases.rebuilt, &phases.rebuilt}) {
    expected.push_back(0);
    for (const Bucket& bucket : *buckets) expected.push_back(static_cast<double>(bucket.bytes));
  }
  for (const RankReport& rank : ranks) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(rank.numbers, expected);
  }
}

TEST(Paced, BucketsOfResNet18AreThePredictedOnes) {
  expect_predicted_buckets(inputs_of("resnet18", ""));
}
TEST(Paced, BucketsOfABranchingNetworkAreThePredictedOnes) {
  expect_predicted_buckets(inputs_of("squeezenet1-0", "ddp: {bucket_cap: 1MiB}\n"));
}

// With a cap of one byte each gradient has a bucket, and the rebuilt buckets stand in the order in which gradients
// came.
TEST(Paced, GradientsComeInTheOrderOfTheModel) {
  for (const char* name : {"resnet18", "squeezenet1-0", "{transformer: {layers: 2, width: 32, heads: 4}}"}) {
    const Inputs inputs = inputs_of(name, "ddp: {bucket_cap: 1B}\n");
    std::vector<double> expected{0};
    for (const ParameterId id : gradient_order(inputs.model))
      expected.push_back(static_cast<double>(inputs.model.parameter(id).bytes()));
    const std::vector<RankReport> ranks = train(inputs, 2, [](Trainer& t, const MeasuredStep& s, RankReport& report) {
      report.numbers.clear();
      report_buckets(t, s, report);
    });
    for (const RankReport& rank : ranks) {
      EXPECT_EQ(rank.error, "") << name;
      EXPECT_EQ(rank.numbers, expected) << name;
    }
  }
}

// Rank r hands over gradients of 1 + r: their mean over two ranks is 1.5 wherever they were really reduced.
void expect_mean_gradients(const Inputs& inputs, double mean) {
  const auto ranks = train(inputs, 3, [](Trainer& trainer, const MeasuredStep&, RankReport& report) {
    for (const std::vector<float>& gradient : trainer.gradients()) {
      const auto [least, most] = std::minmax_element(gradient.begin(), gradient.end());
      report.numbers.push_back(*least);
      report.numbers.push_back(*most);
    }
  });
  for (const RankReport& rank : ranks) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(rank.numbers, std::vector<double>(inputs.model.parameters.size() * 6, mean));
  }
}

TEST(Paced, GradientsAreReallyAveraged) {
  expect_mean_gradients(inputs_of("resnet18", ""), 1.5);
  expect_mean_gradients(inputs_of("resnet18", "ddp: {gradient_as_bucket_view: true}\n"), 1.5);
}
TEST(Paced, GradientsOfAllMicroStepsAreAccumulatedAndAveraged) {
  expect_mean_gradients(inputs_of("resnet18", "accumulate: {steps: 2}\n"), 3);
}

TEST(Paced, BucketsAreLaunchedInOrderAndEndAfterwards) {
  const Inputs inputs = inputs_of("resnet18", "ddp: {bucket_cap: 4MiB}\n");
  const auto ranks = train(
      inputs, 3,
      [](Trainer&, const MeasuredStep& step, RankReport& report) {
        report.numbers.clear();
        for (const MeasuredBucket& bucket : step.buckets) {
          report.numbers.insert(report.numbers.end(), {static_cast<double>(bucket.index), bucket.launch_s});
          if (bucket.end_s < bucket.launch_s) report.error = "a bucket ended before it was launched";
        }
      },
      true);
  const std::size_t buckets = bucket_phases(inputs.model, inputs.scenario().ddp, {2, 11}).rebuilt.size();
  for (const RankReport& rank : ranks) {
    EXPECT_EQ(rank.error, "");
    ASSERT_EQ(rank.numbers.size(), 2 * buckets);
    for (std::size_t i = 0; i < buckets; ++i) {
      EXPECT_EQ(rank.numbers[2 * i], static_cast<double>(i));
      if (i > 0) {
        EXPECT_GE(rank.numbers[2 * i + 1], rank.numbers[2 * i - 1]);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
