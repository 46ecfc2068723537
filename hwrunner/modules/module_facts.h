// What LibTorch itself says about the module made of a Model, found by running it once forward and backward: held
// against what models/derived.h says. Plain C++.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/model.h"
#include "simulator/base/error.h"

namespace lockstep {

struct ModuleTensor {
  std::string name;  // dotted path
  Shape shape;
  DType dtype = DType::Fp32;
  bool operator==(const ModuleTensor&) const = default;
};

struct OpOutput {
  Shape shape;                 // per sample
  std::int64_t samples = 0;    // first axis: the batch, or 1
  std::int64_t bytes = 0;      // of the whole tensor
  bool shares_memory = false;  // with an input of the op: nothing was written
};

struct ModuleFacts {
  std::vector<ModuleTensor> parameters, buffers;  // as named_parameters() and named_buffers() list them
  std::vector<OpOutput> outputs;                  // one per op but the loss, training
  // Bytes that live on after the forward pass because the backward pass needs them: what was allocated and not freed,
  // input, labels and the loss itself left out.
  std::int64_t kept_bytes = 0;
  std::vector<std::string> gradient_order;        // names, as their gradients became final
  std::vector<std::string> without_gradient;      // parameters whose gradient is missing, zero or not finite
  double training_loss = 0, evaluation_loss = 0;  // means over the batch
};

struct ModuleFactsOptions {
  std::int64_t batch = 2;
  std::uint64_t seed = 1;
  int threads = 1;
};

// Errors: NotSupported (plan_ops), RunFailed with LibTorch's message.
Expected<ModuleFacts> module_facts(const Model& model, const ModuleFactsOptions& options = {});

// 2.11.0; of the library that is linked.
std::string libtorch_version();

}  // namespace lockstep
