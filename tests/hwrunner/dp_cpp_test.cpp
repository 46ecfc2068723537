// What LibTorch's data_parallel does with a network of ours, without GPUs: its replicas and their forward passes on
// CPUs. Only its scatter and gather need CUDA; here narrow and cat stand for them.
#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <gtest/gtest.h>
#include <torch/nn/parallel/data_parallel.h>

#include <atomic>

#include "hwrunner/cuda/torch_one_tensor.h"
#include "tests/models/zoo_helpers.h"

namespace lockstep {
namespace {

constexpr int kReplicas = 3;
constexpr std::int64_t kEach = 2;

std::shared_ptr<OpModule> network(const std::string& name, const ModelOptions& options) {
  auto model = std::make_shared<const Model>(zoo_model(name, options));
  auto plans = plan_ops(*model);
  EXPECT_TRUE(plans) << to_text(plans.error().front());
  auto module = std::make_shared<OpModule>(model, std::make_shared<const std::vector<OpPlan>>(*std::move(plans)));
  module->initialise(7);
  module->eval();  // batch norms would see other batches
  return module;
}

std::shared_ptr<OpModule> small_resnet() {
  ModelOptions options;
  options.stem = "cifar";
  options.image = 16;
  options.classes = 5;
  return network("resnet18", options);
}

double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).norm().item<double>() / (b.norm().item<double>() + 1e-12);
}

class DpCpp : public ::testing::Test {
 protected:
  void pass(const std::shared_ptr<OpModule>& base, const TensorBatch& batch) {
    PassHooks hooks;
    hooks.before_clone = [this] { ++clones_; };
    hooks.run_model = [&](OpModule& replica, const at::Tensor& input) {
      ++passes_;
      shares_ = shares_ || replica.parameters_in_order().front().is_same(base->parameters_in_order().front());
      return replica.outputs(input).front();
    };
    const std::vector<at::Device> devices(kReplicas, at::kCPU);
    auto replicas = torch::nn::parallel::replicate(std::make_shared<OneTensorModule>(base, hooks), devices);
    const std::vector<at::Tensor> inputs = batch.input.split(kEach);
    const std::vector<at::Tensor> outputs = torch::nn::parallel::parallel_apply(replicas, inputs, devices);
    base->loss({at::cat(outputs)}, batch.labels).backward();
  }
  int clones_ = 0;
  std::atomic<int> passes_ = 0;
  std::atomic<bool> shares_ = false;
};

TEST_F(DpCpp, gives_the_base_the_gradients_of_the_whole_batch_pass_after_pass) {
  for (const int threads : {1, kReplicas}) {
    at::set_num_threads(threads);
    const auto base = small_resnet(), whole = small_resnet();
    for (int step = 0; step < 2; ++step) {
      const TensorBatch batch = synthetic_batch(base->model(), 3, step * kReplicas * kEach, kReplicas * kEach);
      pass(base, batch);
      whole->loss(whole->outputs(batch.input), batch.labels).backward();
      const at::NoGradGuard no_grad;  // gradients add up; the second replicas are those of changed parameters
      for (std::size_t p = 0; p < base->parameters_in_order().size(); ++p) {
        const at::Tensor mine = base->parameters_in_order()[p], theirs = whole->parameters_in_order()[p];
        ASSERT_TRUE(mine.is_leaf() && mine.grad().defined()) << p;
        EXPECT_LT(relative_difference(mine.grad(), theirs.grad()), 1e-4) << p;
        theirs.sub_(theirs.grad(), 0.01);
        mine.copy_(theirs);
      }
    }
  }
  EXPECT_EQ(clones_, 4 * kReplicas);
  EXPECT_EQ(passes_, 4 * kReplicas);
  EXPECT_FALSE(shares_) << "each replica is a copy";
}

TEST_F(DpCpp, leaves_the_running_statistics_of_the_base_as_they_were) {
  const auto base = small_resnet();
  base->train();
  std::vector<at::Tensor> before;
  for (const at::Tensor& buffer : base->buffers_in_order()) before.push_back(buffer.clone());
  ASSERT_FALSE(before.empty());
  pass(base, synthetic_batch(base->model(), 3, 0, kReplicas * kEach));
  for (std::size_t b = 0; b < before.size(); ++b) EXPECT_TRUE(before[b].equal(base->buffers_in_order()[b])) << b;
}

}  // namespace
}  // namespace lockstep
