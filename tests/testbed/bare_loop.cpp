// The least that training a two-layer network takes: LibTorch's operators in a loop, nothing of ours around them. What
// `lockstep measure` takes longer for scenarios/measured/tiny-mlp-cpu.yaml is the runner's own. Prints the median step
// in seconds.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace {

constexpr int kInputs = 16, kHidden = 16, kOutputs = 4, kBatch = 1;  // of tiny-mlp-cpu.yaml
constexpr int kWarmUp = 200, kSteps = 2000;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

at::Tensor parameter(at::IntArrayRef shape) {
  return at::randn(shape).requires_grad_(true);
}

}  // namespace

int main() {
  at::set_num_threads(1);
  const std::vector<at::Tensor> parameters = {parameter({kHidden, kInputs}), parameter({kHidden}),
                                              parameter({kOutputs, kHidden}), parameter({kOutputs})};
  const at::Tensor input = at::randn({kBatch, kInputs}), labels = at::randint(kOutputs, {kBatch}, at::kLong);
  std::vector<double> steps;
  double before = now_s();
  for (int i = 0; i < kWarmUp + kSteps; ++i) {
    for (const at::Tensor& one : parameters) one.mutable_grad().reset();
    const at::Tensor hidden = at::relu(at::linear(input, parameters[0], parameters[1]));
    at::cross_entropy_loss(at::linear(hidden, parameters[2], parameters[3]), labels).backward();
    const double now = now_s();
    if (i >= kWarmUp) steps.push_back(now - before);
    before = now;
  }
  std::nth_element(steps.begin(), steps.begin() + kSteps / 2, steps.end());
  std::printf("%.9f\n", steps[kSteps / 2]);
}
