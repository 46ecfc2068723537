#include "simulator/costs/memory_cost.h"

#include <algorithm>

#include "models/derived.h"
#include "simulator/costs/input_cost.h"
#include "simulator/costs/op_view.h"
#include "simulator/costs/optimizer_cost.h"

namespace lockstep {
namespace {

std::int64_t used_parameter_bytes(const Model& model) {
  std::int64_t bytes = 0;
  for (const Parameter& parameter : model.parameters)
    if (parameter.used) bytes += parameter.bytes();
  return bytes;
}

// Bytes of a kept tensor in the type that the run has it. Matrix work keeps its cast input; an op's own tensors (masks,
// indices, statistics, log softmax) keep their type.
std::int64_t kept_bytes(const Model& model, const KeptTensor& tensor, const std::vector<DType>& dtypes) {
  if (!tensor.is_output) return tensor.bytes;
  const auto by = static_cast<std::size_t>(tensor.kept_by), from = static_cast<std::size_t>(tensor.produced_by);
  const bool cast = autocasts_to_half(model.ops[by].kind) && bytes_of(dtypes[by]) < bytes_of(dtypes[from]);
  const DType declared = model.ops[from].output_dtype;
  if (declared == DType::Int64) return tensor.bytes;
  return tensor.bytes * bytes_of(cast ? dtypes[by] : dtypes[from]) / bytes_of(declared);
}

std::int64_t cast_weight_bytes(const Model& model, const ComputeContext& context) {
  if (!context.autocast) return 0;
  std::vector<bool> cast(model.parameters.size(), false);
  std::int64_t elements = 0;
  for (const Op& op : model.ops) {
    if (!autocasts_to_half(op.kind)) continue;
    for (const ParameterId id : op.parameters) {
      if (cast[static_cast<std::size_t>(id)]) continue;
      cast[static_cast<std::size_t>(id)] = true;
      elements += model.parameter(id).elements();
    }
  }
  return elements * bytes_of(DType::Fp16);
}

// The loss's inputs for `samples` samples, and their gradients.
std::int64_t output_bytes(const Model& model, const std::vector<DType>& dtypes, std::int64_t samples) {
  const Op& last = model.ops.back();
  if (last.inputs.empty()) return 0;
  std::int64_t bytes = 0;
  for (const OpId scores : last.inputs)
    bytes += elements_of(model.op(scores).output) * bytes_of(dtypes[static_cast<std::size_t>(scores)]);
  return 2 * samples * bytes;
}

}  // namespace

std::int64_t kept_activation_bytes(const Model& model, const ComputeContext& context) {
  const std::vector<DType> dtypes = output_dtypes(model, context);
  std::int64_t bytes = 0;
  for (const KeptTensor& tensor : kept_tensors(model, DropoutMask::Byte)) bytes += kept_bytes(model, tensor, dtypes);
  return bytes * context.batch + cast_weight_bytes(model, context);
}

MemoryEstimate memory_estimate(const Model& model, const ComputeContext& context, const MemoryQuestion& question,
                               const MemoryCosts& costs) {
  const bool replica = question.role == MemoryRole::DpOther;
  const bool dp = replica || question.role == MemoryRole::DpFirst;
  const std::int64_t trained = used_parameter_bytes(model);
  const std::int64_t samples = context.batch * (question.role == MemoryRole::DpFirst ? question.replicas : 1);
  MemoryEstimate m;
  m.parameters = parameter_bytes(model);
  m.buffers = buffer_bytes(model);
  m.gradients = trained;
  if (!replica) m.optimizer_state = optimizer_state_bytes(model, question.optimizer);
  if (question.role == MemoryRole::Ddp && !question.gradient_as_bucket_view) m.buckets = trained;
  m.input = batch_bytes(model, samples, question.image_dtype);
  m.activations = kept_activation_bytes(model, context);
  m.output = output_bytes(model, output_dtypes(model, context), samples);
  if (dp) m.temporaries = static_cast<std::int64_t>(costs.dp_flat_chunk * (replica ? 1 : costs.dp_flat_chunks_alive));
  // At the optimizer's step activations are gone; its temporaries count only where they are larger.
  const bool steps = !replica && question.optimizer != OptimizerKind::None && question.foreach_optimizer;
  if (steps) m.temporaries += std::max<std::int64_t>(0, trained - m.activations - m.output - m.temporaries);
  m.context = static_cast<std::int64_t>(costs.cuda_context);
  return m;
}

}  // namespace lockstep
