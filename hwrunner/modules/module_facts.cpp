#include "hwrunner/modules/module_facts.h"

#include <ATen/Parallel.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/version.h>

#include <exception>
#include <utility>

#include "hwrunner/modules/torch_error.h"
#include "hwrunner/modules/torch_module.h"

namespace lockstep {
namespace {

// Counts bytes of CPU tensors that come and go on this thread.
class MemoryCount : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override { live_ += bytes; }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t live() const { return live_; }

 private:
  std::int64_t live_ = 0;
};

DType dtype_of(at::ScalarType type) {
  for (const DType dtype : {DType::Fp64, DType::Fp32, DType::Fp16, DType::Bf16, DType::Int64})
    if (torch_type(dtype) == type) return dtype;
  return DType::Fp32;
}

template <class Named>
std::vector<ModuleTensor> tensors_of(const Named& named) {
  std::vector<ModuleTensor> list;
  for (const auto& item : named)
    list.push_back({item.key(), item.value().sizes().vec(), dtype_of(item.value().scalar_type())});
  return list;
}

class FactFinder {
 public:
  FactFinder(const Model& model, OpModule& module, const ModuleFactsOptions& options)
      : model_(model), module_(module), options_(options) {}

  ModuleFacts find() {
    facts_.parameters = tensors_of(module_.named_parameters());
    facts_.buffers = tensors_of(module_.named_buffers());
    module_.initialise(options_.seed);
    batch_ = synthetic_batch(model_, options_.seed, 0, options_.batch);
    evaluate();
    watch_gradients();
    module_.train();
    at::manual_seed(options_.seed);
    at::Tensor loss = forward_counted();
    facts_.training_loss = loss.item<double>();
    loss.backward();
    check_gradients();
    return std::move(facts_);
  }

 private:
  void evaluate() {
    const at::NoGradGuard no_grad;
    module_.eval();
    facts_.evaluation_loss = module_.loss(module_.outputs(batch_.input), batch_.labels).item<double>();
  }

  at::Tensor forward_counted() {
    std::vector<const void*> storages(model_.ops.size(), nullptr);
    const auto observe = [&](std::size_t i, const at::Tensor& output) {
      storages[i] = output.storage().data();
      bool shared = false;
      for (const OpId input : model_.ops[i].inputs) shared |= storages[static_cast<std::size_t>(input)] == storages[i];
      const std::vector<std::int64_t> sizes = output.sizes().vec();
      facts_.outputs.push_back(
          {Shape(sizes.begin() + 1, sizes.end()), sizes.front(), static_cast<std::int64_t>(output.nbytes()), shared});
    };
    const auto count = std::make_shared<MemoryCount>();
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, count);
    at::Tensor loss = module_.loss(module_.outputs(batch_.input, observe), batch_.labels);
    facts_.kept_bytes = count->live();
    return loss;
  }

  // The hook of a leaf runs when the engine adds its gradient, once per backward pass.
  void watch_gradients() {
    const std::vector<at::Tensor>& parameters = module_.parameters_in_order();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (!parameters[p].requires_grad()) continue;
      parameters[p].register_hook([this, p](const at::Tensor& gradient) {
        facts_.gradient_order.push_back(model_.parameters[p].name);
        return gradient;
      });
    }
  }

  void check_gradients() {
    const std::vector<at::Tensor>& parameters = module_.parameters_in_order();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const at::Tensor& gradient = parameters[p].grad();
      if (!gradient.defined() || !at::isfinite(gradient.sum()).item<bool>() || !gradient.any().item<bool>())
        facts_.without_gradient.push_back(model_.parameters[p].name);
    }
  }

  const Model& model_;
  OpModule& module_;
  const ModuleFactsOptions& options_;
  TensorBatch batch_;
  ModuleFacts facts_;
};

}  // namespace

Expected<ModuleFacts> module_facts(const Model& model, const ModuleFactsOptions& options) {
  Expected<std::vector<OpPlan>> plans = plan_ops(model);
  if (!plans) return tl::make_unexpected(plans.error());
  return guarded(model.name, [&]() -> Expected<ModuleFacts> {
    at::set_num_threads(options.threads);
    const auto module = std::make_shared<OpModule>(std::make_shared<const Model>(model),
                                                   std::make_shared<const std::vector<OpPlan>>(std::move(*plans)));
    return FactFinder(model, *module, options).find();
  });
}

std::string libtorch_version() {
  return TORCH_VERSION;
}

}  // namespace lockstep
