// From a profiler's events to seconds by class, on events made by hand.
#include "hwrunner/trainers/op_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

const char* const kNode = "autograd::engine::evaluate_function: ";

ProfiledEvent call(const std::string& name, double start_s, double end_s, std::uint64_t id = 0,
                   std::uint64_t thread = 1) {
  return {name, start_s, end_s, thread, id, false};
}

TEST(OpClass, is_told_from_the_names_of_calls_and_of_autograds_nodes) {
  for (const auto& [name, op_class] : std::vector<std::pair<std::string, std::string>>{
           {"aten::conv2d", "conv2d"},
           {std::string(kNode) + "ConvolutionBackward0", "conv2d"},
           {"aten::linear", "linear"},
           {std::string(kNode) + "AddmmBackward0", "linear"},
           {std::string(kNode) + "MmBackward0", "matmul"},
           {"aten::matmul", "matmul"},
           {"aten::batch_norm", "batch_norm"},
           {std::string(kNode) + "NativeBatchNormBackward0", "batch_norm"},
           {std::string(kNode) + "NativeLayerNormBackward0", "layer_norm"},
           {"aten::relu_", "elementwise"},
           {std::string(kNode) + "AddBackward0", "elementwise"},
           {"aten::adaptive_avg_pool2d", "pooling"},
           {"aten::cross_entropy_loss", "loss"},
           {std::string(kNode) + "LogSoftmaxBackward0", "loss"},
           {"aten::softmax", "softmax"},
           {"aten::embedding", "embedding"},
           {std::string(kNode) + "ScaledDotProductFlashAttentionForCpuBackward0", "attention"},
           {std::string(kNode) + "TBackward0", "copy"},
           {"aten::_foreach_add_", "optimizer"},
           {"aten::_fused_adam_", "optimizer"},
           {std::string(kNode) + "torch::autograd::AccumulateGrad", "gradients"},
           {"torch::distributed::reducer::mul_out", "bucket_copies"},
           {"torch.distributed.ddp.reducer::copy_bucket_to_grad", "bucket_copies"},
           {"c10d::allreduce_", "communication"},
           {"gloo:all_reduce", "communication"},
           {"aten::something_new", "other"}})
    EXPECT_EQ(op_class_of(name), op_class) << name;
}

TEST(SecondsByClass, are_of_the_outermost_calls_of_each_thread) {
  const SecondsByClass seconds = seconds_by_class({
      call("aten::convolution", 0.1, 0.9),  // within the first
      call("aten::conv2d", 0, 1),
      call("aten::relu_", 1, 1.25),
      call("aten::conv2d", 0.5, 2.5, 0, 2),  // on another thread
      call(std::string(kNode) + "ConvolutionBackward0", 2, 4),
      call("aten::sum", 2.5, 3),
      call("aten::_foreach_add_", 5, 5.5),
  });
  EXPECT_THAT(seconds, ElementsAre(Pair("conv2d", ElementsAre(Pair("backward", 2.0), Pair("forward", 3.0))),
                                   Pair("elementwise", ElementsAre(Pair("forward", 0.25))),
                                   Pair("optimizer", ElementsAre(Pair("step", 0.5)))));
}

TEST(SecondsByClass, take_the_copies_of_buckets_out_of_the_calls_around_them) {
  const SecondsByClass seconds = seconds_by_class({
      call(std::string(kNode) + "torch::autograd::AccumulateGrad", 0, 1),
      call("torch::distributed::reducer::mul_out", 0.25, 0.5),
      call("aten::mul", 0.25, 0.5),
      call("torch.distributed.ddp.reducer::copy_bucket_to_grad", 2, 2.5),
  });
  EXPECT_THAT(seconds, ElementsAre(Pair("bucket_copies", ElementsAre(Pair("backward", 0.75))),
                                   Pair("gradients", ElementsAre(Pair("backward", 0.75)))));
}

TEST(SecondsByClass, are_those_of_kernels_where_there_are_some) {
  const SecondsByClass seconds = seconds_by_class({
      call("aten::linear", 0, 1, 7),
      call("aten::addmm", 0.1, 0.9, 8),
      {"gemm", 3, 3.5, 99, 8, true},  // launched by addmm, which linear called
      {"stray", 4, 4.25, 99, 1234, true},
  });
  EXPECT_THAT(seconds, ElementsAre(Pair("linear", ElementsAre(Pair("forward", 0.5))),
                                   Pair("other", ElementsAre(Pair("forward", 0.25)))));
}

}  // namespace
}  // namespace lockstep
