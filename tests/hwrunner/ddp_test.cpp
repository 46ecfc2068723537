// The real Reducer over Gloo between real processes: its gradients are those of one process with the whole batch, and
// its buckets are those that the simulator predicts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "hwrunner/trainers/trainer.h"
#include "models/builder.h"
#include "simulator/steps/buckets.h"
#include "tests/hwrunner/ranks.h"
#include "tests/models/zoo_helpers.h"

namespace lockstep {
namespace {

using ::testing::Each;
using ::testing::Gt;
using ::testing::SizeIs;

constexpr int kWorld = 2;

std::shared_ptr<const Model> shared(Model model) {
  return std::make_shared<const Model>(std::move(model));
}

std::shared_ptr<const Model> small_mlp() {
  ModelOptions options;
  options.inputs = 40;
  options.hidden = {64, 48};
  return shared(zoo_model("mlp", options));
}

std::shared_ptr<const Model> small_transformer() {
  ModelOptions options;
  options.layers = 2;
  options.width = 32;
  options.heads = 4;
  options.vocabulary = 100;
  options.sequence = 12;
  return shared(zoo_model("transformer", options));
}

std::shared_ptr<const Model> cifar_resnet() {
  ModelOptions options;
  options.stem = "cifar";
  return shared(zoo_model("resnet18", options));
}

TrainerOptions ddp_options(int rank, int port) {
  TrainerOptions options;
  options.strategy = Strategy::Ddp;
  options.batch = 2;
  options.optimizer = OptimizerKind::None;  // weights stay, so that gradients of any step can be compared
  options.evaluation_mode = true;
  options.group.rank = rank;
  options.group.world = kWorld;
  options.group.port = port;
  options.group.interface = "lo";
  return options;
}

void append_flat(RankReport& report, const std::vector<std::vector<float>>& gradients) {
  for (const std::vector<float>& one : gradients) report.numbers.insert(report.numbers.end(), one.begin(), one.end());
}

// Trains for `steps` steps and reports the last gradients.
RankReport train(const std::shared_ptr<const Model>& model, const TrainerOptions& options, int steps) {
  RankReport report;
  auto trainer = make_trainer(model, options);
  if (!trainer) return {{}, to_text(trainer.error().front())};
  for (int i = 0; i < steps; ++i) {
    const auto step = (*trainer)->step();
    if (!step) return {{}, to_text(step.error().front())};
  }
  append_flat(report, (*trainer)->gradients());
  return report;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

// Both ranks after `steps` steps against one process that sees the samples of both.
void expect_whole_batch_gradients(const std::shared_ptr<const Model>& model, double tolerance,
                                  const std::function<void(TrainerOptions&)>& change, int steps = 3) {
  const int port = free_port();
  const std::vector<RankReport> ranks = run_ranks(kWorld, [&](int rank) {
    TrainerOptions options = ddp_options(rank, port);
    change(options);
    return train(model, options, steps);
  });
  TrainerOptions single = ddp_options(0, port);
  change(single);
  single.strategy = Strategy::Single;
  single.instrument = false;
  single.batch *= kWorld;
  const RankReport whole = train(model, single, steps);
  ASSERT_EQ(whole.error, "");
  double scale = 0;
  for (const double g : whole.numbers) scale = std::max(scale, std::abs(g));
  ASSERT_GT(scale, 0);
  for (const RankReport& rank : ranks) {
    ASSERT_EQ(rank.error, "");
    EXPECT_LT(largest_difference(rank.numbers, whole.numbers) / scale, tolerance);
  }
}

void as_it_is(TrainerOptions&) {}

TEST(Ddp, GradientsEqualOneProcessWithTheWholeBatch) {
  expect_whole_batch_gradients(small_mlp(), 1e-5, as_it_is);
}
TEST(Ddp, GradientsOfTheFirstStepEqualOneProcessWithTheWholeBatch) {
  expect_whole_batch_gradients(small_mlp(), 1e-5, as_it_is, 1);
}
TEST(Ddp, GradientsWithTiedWeightsEqualOneProcessWithTheWholeBatch) {
  expect_whole_batch_gradients(small_transformer(), 1e-5, as_it_is);
}
TEST(Ddp, GradientsOfAConvolutionalNetworkEqualOneProcessWithTheWholeBatch) {
  expect_whole_batch_gradients(cifar_resnet(), 1e-4, as_it_is, 2);
}
TEST(Ddp, GradientsInManyBucketsThatAreViewsEqualOneProcessWithTheWholeBatch) {
  expect_whole_batch_gradients(small_transformer(), 1e-5, [](TrainerOptions& options) {
    options.ddp.gradient_as_bucket_view = true;
    options.ddp.bucket_cap_bytes = 4096;
  });
}
TEST(Ddp, GradientsClearedInPlaceInBucketViewsEqualOneProcessWithTheWholeBatch) {
  expect_whole_batch_gradients(small_mlp(), 1e-5, [](TrainerOptions& options) {
    options.ddp.gradient_as_bucket_view = true;
    options.zero_in_place = true;
  });
}
TEST(Ddp, GradientsOfAStaticGraphEqualOneProcessWithTheWholeBatch) {
  for (const int steps : {1, 2, 4}) {
    expect_whole_batch_gradients(
        small_mlp(), 1e-5, [](TrainerOptions& options) { options.ddp.static_graph = true; }, steps);
  }
}
TEST(Ddp, GradientsAccumulatedWithoutSynchronisingEqualOneProcessWithTheWholeBatch) {
  expect_whole_batch_gradients(small_mlp(), 1e-5, [](TrainerOptions& options) { options.micro_steps = 3; });
}
TEST(Ddp, GradientsSynchronisedInEachMicroStepEqualOneProcessWithTheWholeBatch) {
  expect_whole_batch_gradients(small_mlp(), 1e-5, [](TrainerOptions& options) {
    options.micro_steps = 3;
    options.no_sync = false;
  });
}
TEST(Ddp, GradientsByTheAllReduceHookEqualOneProcessWithTheWholeBatch) {
  expect_whole_batch_gradients(small_mlp(), 1e-5,
                               [](TrainerOptions& options) { options.ddp.hook = CommHook::AllReduce; });
}
TEST(Ddp, GradientsByTheFp16HookAreRoundedToItsElevenBits) {
  expect_whole_batch_gradients(small_mlp(), 2e-3, [](TrainerOptions& options) { options.ddp.hook = CommHook::Fp16; });
}
TEST(Ddp, GradientsByTheBf16HookAreRoundedToItsEightBits) {
  expect_whole_batch_gradients(small_mlp(), 1.6e-2, [](TrainerOptions& options) { options.ddp.hook = CommHook::Bf16; });
}
TEST(Ddp, InstrumentedGradientsEqualOneProcessWithTheWholeBatch) {
  for (const CommHook hook : {CommHook::None, CommHook::Fp16}) {
    expect_whole_batch_gradients(small_mlp(), 2e-3, [hook](TrainerOptions& options) {
      options.instrument = true;
      options.ddp.hook = hook;
    });
  }
}

Model with_a_spare_layer() {
  ModelBuilder b("made", "samples", {16}, DType::Fp32, 1);
  OpId x = b.relu(b.linear(b.input(), "first", 24), "relu", false);
  b.unused_parameter("spare.weight", {8, 8});
  b.cross_entropy(b.linear(x, "last", 5));
  return std::move(b).finish();
}

TEST(Ddp, UnusedParametersAreFoundAndTheOthersReduced) {
  expect_whole_batch_gradients(shared(with_a_spare_layer()), 1e-5,
                               [](TrainerOptions& options) { options.ddp.find_unused_parameters = true; });
}

TEST(Ddp, AnUnusedParameterThatIsNotLookedForIsAnErrorInTheSecondStep) {
  const int port = free_port();
  const auto ranks =
      run_ranks(kWorld, [&](int rank) { return train(shared(with_a_spare_layer()), ddp_options(rank, port), 2); });
  for (const RankReport& rank : ranks)
    EXPECT_NE(rank.error.find("Expected to have finished reduction in the prior iteration"), std::string::npos)
        << rank.error;
}

// --- Buckets -----------------------------------------------------------------------------------

std::vector<std::int64_t> bytes_of(const std::vector<Bucket>& buckets) {
  std::vector<std::int64_t> bytes;
  for (const Bucket& bucket : buckets) bytes.push_back(bucket.bytes);
  return bytes;
}

void expect_predicted_buckets(const std::shared_ptr<const Model>& model, const DdpOptions& ddp) {
  const int port = free_port();
  const int steps = ddp.static_graph ? 3 : 2;  // the rebuilt ones are in use then
  const std::vector<RankReport> ranks = run_ranks(kWorld, [&](int rank) -> RankReport {
    TrainerOptions options = ddp_options(rank, port);
    options.batch = 1;
    options.ddp = ddp;
    auto trainer = make_trainer(model, options);
    if (!trainer) return {{}, to_text(trainer.error().front())};
    RankReport report;
    for (const std::int64_t bytes : (*trainer)->bucket_bytes()) report.numbers.push_back(static_cast<double>(bytes));
    for (int i = 0; i < steps; ++i) {
      const auto step = (*trainer)->step();
      if (!step) return {{}, to_text(step.error().front())};
    }
    report.numbers.push_back(0);
    for (const std::int64_t bytes : (*trainer)->bucket_bytes()) report.numbers.push_back(static_cast<double>(bytes));
    return report;
  });
  const BucketPhases phases = bucket_phases(*model, ddp, {2, 11});
  std::vector<double> expected;
  for (const std::int64_t bytes : bytes_of(phases.initial)) expected.push_back(static_cast<double>(bytes));
  expected.push_back(0);
  for (const std::int64_t bytes : bytes_of(phases.rebuilt)) expected.push_back(static_cast<double>(bytes));
  for (const RankReport& rank : ranks) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(rank.numbers, expected);
  }
}

DdpOptions with_cap(std::int64_t cap) {
  DdpOptions ddp;
  ddp.bucket_cap_bytes = cap;
  return ddp;
}

TEST(Buckets, OfResNet18AreThePredictedOnes) {
  expect_predicted_buckets(cifar_resnet(), {});
}
TEST(Buckets, OfResNet18WithASmallCapAreThePredictedOnes) {
  expect_predicted_buckets(cifar_resnet(), with_cap(8 << 20));
}
TEST(Buckets, OfResNet18WithASmallFirstBucketAreThePredictedOnes) {
  DdpOptions ddp = with_cap(4 << 20);
  ddp.first_bucket_bytes = 100'000;
  expect_predicted_buckets(cifar_resnet(), ddp);
}
TEST(Buckets, OfResNet18LookingForUnusedParametersAreThePredictedOnes) {
  DdpOptions ddp;
  ddp.find_unused_parameters = true;
  expect_predicted_buckets(cifar_resnet(), ddp);
}
TEST(Buckets, OfAStaticGraphAreThePredictedOnes) {
  DdpOptions ddp = with_cap(16384);
  ddp.static_graph = true;
  expect_predicted_buckets(small_transformer(), ddp);
}
TEST(Buckets, OfATransformerWithTiedWeightsAreThePredictedOnes) {
  expect_predicted_buckets(small_transformer(), with_cap(8192));
}

TEST(Buckets, AreRecordedInLaunchOrderWithTimesThatFollowEachOther) {
  const auto model = cifar_resnet();
  DdpOptions ddp = with_cap(8 << 20);
  const int port = free_port();
  const std::vector<RankReport> ranks = run_ranks(kWorld, [&](int rank) -> RankReport {
    TrainerOptions options = ddp_options(rank, port);
    options.ddp = ddp;
    options.instrument = true;
    auto trainer = make_trainer(model, options);
    if (!trainer) return {{}, to_text(trainer.error().front())};
    MeasuredStep last;
    for (int i = 0; i < 3; ++i) {
      const auto step = (*trainer)->step();
      if (!step) return {{}, to_text(step.error().front())};
      last = *step;
    }
    RankReport report;
    for (const MeasuredBucket& b : last.buckets)
      for (const double n : {static_cast<double>(b.index), static_cast<double>(b.bytes), b.ready_s, b.launch_s, b.end_s,
                             last.total_s, last.forward_s})
        report.numbers.push_back(n);
    const auto log = (*trainer)->ddp_log();
    if (const auto found = log.find("rebuilt_bucket_sizes"); found != log.end()) report.error = found->second;
    return report;
  });
  const std::vector<std::int64_t> expected = bytes_of(bucket_phases(*model, ddp, {2, 11}).rebuilt);
  for (const RankReport& rank : ranks) {
    EXPECT_EQ(rank.error, "9461800, 9441280, 9969664, 9445376, 6377728");  // PyTorch's own record
    constexpr std::size_t kFields = 7;
    ASSERT_EQ(rank.numbers.size(), expected.size() * kFields);
    double launched = 0;
    for (std::size_t b = 0; b < expected.size(); ++b) {
      const double* n = rank.numbers.data() + b * kFields;
      EXPECT_EQ(n[0], static_cast<double>(b));
      EXPECT_EQ(n[1], static_cast<double>(expected[b]));
      EXPECT_GE(n[2], n[6]) << "ready before the forward pass was over";
      EXPECT_LE(n[2], n[3] + 1e-4) << "launched before it was ready";  // two clocks of the same host
      EXPECT_LE(n[3], n[4]);
      EXPECT_LE(n[4], n[5]);
      EXPECT_GE(n[3], launched);
      launched = n[3];
    }
  }
}

// --- When ranks fail ---------------------------------------------------------------------------

TEST(Ranks, ARankThatLeavesIsAnErrorOfTheOthersAtOnce) {
  const int port = free_port();
  const auto ranks = run_ranks(kWorld, [&](int rank) -> RankReport {
    auto trainer = make_trainer(small_mlp(), ddp_options(rank, port));
    if (!trainer) return {{}, to_text(trainer.error().front())};
    if (!(*trainer)->step() || rank == 1) _exit(1);
    const auto step = (*trainer)->step();
    return {{}, step ? "no error" : to_text(step.error().front())};
  });
  EXPECT_THAT(ranks[0].error, ::testing::MatchesRegex("the step failed: .*(Connection closed|Connection reset).*"));
}

TEST(Ranks, ARankThatNeverComesIsWaitedForNoLongerThanTheTimeout) {
  TrainerOptions options = ddp_options(0, free_port());
  options.group.store_timeout_s = 1;
  const auto trainer = make_trainer(small_mlp(), options);
  ASSERT_FALSE(trainer);
  EXPECT_EQ(trainer.error().front().kind, ErrorKind::RunFailed);
  EXPECT_NE(trainer.error().front().message.find("1/2 clients joined"), std::string::npos)
      << trainer.error().front().message;
}

TEST(Ranks, ARankThatHangsIsATimeoutOfTheOthers) {
  const int port = free_port();
  const auto ranks = run_ranks(kWorld, [&](int rank) -> RankReport {
    TrainerOptions options = ddp_options(rank, port);
    options.group.timeout_s = 1;
    auto trainer = make_trainer(small_mlp(), options);
    if (!trainer) return {{}, to_text(trainer.error().front())};
    if (rank == 1) {
      sleep(4);
      _exit(1);
    }
    const auto step = (*trainer)->step();
    return {{}, step ? "no error" : to_text(step.error().front())};
  });
  EXPECT_NE(ranks[0].error.find("Timed out waiting 1000ms"), std::string::npos) << ranks[0].error;
}

// --- The stand-in for DataParallel ---------------------------------------------------------------

TEST(DpStandIn, GradientsOfReplicasOnThreadsEqualOneWithTheWholeBatch) {
  for (const auto& [model, tolerance] : {std::pair{small_transformer(), 1e-5}, std::pair{cifar_resnet(), 1e-4}}) {
    TrainerOptions options = ddp_options(0, 0);
    options.strategy = Strategy::Dp;
    options.replicas = 3;
    options.micro_steps = 2;
    const RankReport replicas = train(model, options, 2);
    options.strategy = Strategy::Single;
    options.batch *= options.replicas;
    const RankReport whole = train(model, options, 2);
    ASSERT_EQ(replicas.error + whole.error, "");
    double scale = 0;
    for (const double g : whole.numbers) scale = std::max(scale, std::abs(g));
    EXPECT_LT(largest_difference(replicas.numbers, whole.numbers) / scale, tolerance);
  }
}

TEST(DpStandIn, ReplicasFollowTheParametersOfTheFirst) {
  TrainerOptions options;
  options.strategy = Strategy::Dp;
  options.replicas = 2;
  options.batch = 4;
  auto dp = make_trainer(small_mlp(), options);
  options.strategy = Strategy::Single;
  options.batch = 8;
  auto single = make_trainer(small_mlp(), options);
  ASSERT_TRUE(dp && single);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR((*dp)->step()->loss, (*single)->step()->loss, 1e-5);
}

// torch/nn/parallel/data_parallel.py: with one device the module is called, and nothing is handed out.
TEST(DpStandIn, OnOneDeviceIsTheModuleItself) {
  for (const int replicas : {1, 2}) {
    TrainerOptions options;
    options.strategy = Strategy::Dp;
    options.replicas = replicas;
    options.batch = 4;
    auto dp = make_trainer(small_mlp(), options);
    ASSERT_TRUE(dp);
    const auto step = (*dp)->step();
    ASSERT_TRUE(step);
    EXPECT_EQ(step->scatter_s == 0, replicas == 1) << replicas;
    EXPECT_EQ(step->replicate_s == 0, replicas == 1) << replicas;
    EXPECT_GT(step->loss, 0);
  }
}

// --- Optimizers --------------------------------------------------------------------------------

class Optimizers : public ::testing::TestWithParam<OptimizerKind> {};

TEST_P(Optimizers, DoTheSameInEachImplementation) {
  std::vector<std::vector<double>> losses;
  for (const auto implementation :
       {OptimizerImplementation::ForLoop, OptimizerImplementation::Foreach, OptimizerImplementation::Fused}) {
    TrainerOptions options;
    options.batch = 8;
    options.optimizer = GetParam();
    options.optimizer_implementation = implementation;
    auto trainer = make_trainer(small_mlp(), options);
    ASSERT_TRUE(trainer);
    std::vector<double>& mine = losses.emplace_back();
    for (int i = 0; i < 6; ++i) {
      const auto step = (*trainer)->step();
      ASSERT_TRUE(step);
      mine.push_back(step->loss);
    }
    EXPECT_LT(mine.back(), mine.front()) << "the loss falls on a batch seen again and again";
  }
  EXPECT_LT(largest_difference(losses[0], losses[1]), 1e-5);
  EXPECT_LT(largest_difference(losses[0], losses[2]), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers,
                         ::testing::Values(OptimizerKind::Sgd, OptimizerKind::SgdMomentum, OptimizerKind::Adam,
                                           OptimizerKind::AdamW));

TEST(Trainer, TheTimesOfAStepAddUpToIt) {
  for (const Strategy strategy : {Strategy::Single, Strategy::Dp}) {
    TrainerOptions options;
    options.strategy = strategy;
    options.replicas = 2;
    options.batch = 4;
    auto trainer = make_trainer(small_mlp(), options);
    ASSERT_TRUE(trainer);
    const auto step = (*trainer)->step();
    ASSERT_TRUE(step);
    const double sum = step->copy_to_device_s + step->prepare_s + step->buffer_broadcast_s + step->forward_s +
                       step->backward_s + step->exposed_communication_s + step->optimizer_s + step->scatter_s +
                       step->replicate_s + step->gather_s + step->gradient_reduce_s;
    EXPECT_NEAR(sum, step->total_s, 1e-9);
    EXPECT_GT(step->forward_s, 0);
    EXPECT_GT(step->backward_s, 0);
    EXPECT_GT(step->optimizer_s, 0);
    EXPECT_EQ(step->gradient_reduce_s > 0, strategy == Strategy::Dp);
  }
}

}  // namespace
}  // namespace lockstep
