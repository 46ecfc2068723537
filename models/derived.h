// What follows from a Model: sizes, work, kept activations, and the order in which gradients become ready.
// Checked against PyTorch's own numbers in tests/models (tests/data/model_facts_open.csv).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/model.h"

namespace lockstep {

std::int64_t parameter_count(const Model& model);
std::int64_t parameter_bytes(const Model& model);
std::int64_t buffer_bytes(const Model& model);

// Number of torch modules: distinct op names and their dotted prefixes, plus the root. Modules without ops of their
// own (e.g. containers) are prefixes of modules that have some.
int module_count(const Model& model);

// FLOP (2 per multiply-add) of matrix products, convolutions and attention products of one op for one sample. Fused
// attention is two products forward and five backward (it forms the scores again), as torch.utils.flop_counter has it.
std::int64_t forward_flop(const Model& model, const Op& op);
// Gradient of the weight always, of the input unless the op reads the model's input (no gradient of the image).
std::int64_t backward_flop(const Model& model, const Op& op);
std::int64_t forward_flop(const Model& model);
std::int64_t backward_flop(const Model& model);

// True when some op between the model's input and this op's inputs has parameters, i.e. a gradient with respect to
// the inputs is needed.
bool needs_input_gradient(const Model& model, const Op& op);

// One entry per op: true when its output requires a gradient (a used parameter at or before it).
std::vector<bool> requires_gradient(const Model& model);

// One entry per op: true when the autograd engine runs its backward. That needs a parameter at or before the op and a
// path from it to the loss.
std::vector<bool> runs_backward(const Model& model);

// True for an op in place whose backward needs the input that it overwrites: PyTorch clones that input first, one
// kernel.
bool clones_input(const Op& op);

// What a dropout keeps. On a CPU PyTorch multiplies by a tensor of the input's type (4 bytes per element in fp32), on a
// GPU native_dropout keeps one byte per element. model_facts_open.csv was computed on a CPU.
enum class DropoutMask { Float, Byte };

// A tensor that stays in memory from the forward to the backward pass. Parameters, buffers and tensors that exist once
// per batch are left out. Rules per op kind: derived_saved.cpp, from PyTorch's derivatives.yaml (eager mode, fp32).
struct KeptTensor {
  OpId kept_by;            // the first op that keeps it
  OpId produced_by;        // whose output it is (views and in-place ops give way to the owner of the storage)...
  bool is_output = true;   // ...or, when false, a tensor of kept_by's own: mask, pool indices, statistics, log-softmax
  std::int64_t bytes = 0;  // per sample
};
std::vector<KeptTensor> kept_tensors(const Model& model, DropoutMask mask = DropoutMask::Float);

// Bytes of tensors that one op keeps for its backward pass, per sample, fp32 eager; a tensor kept by two ops is
// counted by the first (unique storages). One entry per op.
std::vector<std::int64_t> saved_activation_bytes(const Model& model, DropoutMask mask = DropoutMask::Float);
// Sum over the model's ops WITHOUT the loss, whose log-softmax the entry of the last op gives (training keeps it too).
std::int64_t saved_activation_bytes_per_sample(const Model& model, DropoutMask mask = DropoutMask::Float);

// Ops in the order in which the autograd engine runs their backward: reverse of forward, ops that need none left out.
// (The engine takes the ready node with the highest sequence number, and numbers are given in forward order.)
std::vector<OpId> backward_order(const Model& model);

// Parameters in the order in which their gradients become final: by backward_order; within a linear the bias before the
// weight (the weight passes through the gradient of its transpose first), within any other op weight before bias (both
// are ready at once and the engine's queue keeps their order). A tied parameter comes after its last contribution.
// Unused parameters are left out.
// Under autocast the weight of a Linear comes before its bias: the casts to half precision have nodes of their own, the
// bias is cast first (the compiler of PyTorch's wheels evaluates arguments from the right), and the engine takes the
// higher number, the weight's, first. An addmm of GPT-2's Conv1D, whose bias is the first argument, keeps its order.
// Seen with PyTorch 2.11 (tests/hwrunner/python_front_end_test.cpp).
std::vector<ParameterId> gradient_order(const Model& model, bool autocast = false);

// How many gradient-accumulation adds the autograd engine runs for the output of an op (consumers with a gradient - 1,
// never below 0; 0 for a Split, whose consumers read different parts). ResNet-50: 16 in all.
int gradient_adds(const Model& model, OpId op);
// The same for every op in one pass.
std::vector<int> gradient_adds(const Model& model);
// Adds for parameters that several ops use (tied weights): uses - 1 each. GPT-2: 1.
int tied_gradient_adds(const Model& model);

// What the host pays for one op, by the counting rule of the DataParallel measurements (docs/cost-models.md, "host"):
// forward: dispatched ops without views, allocations and clones; a batch norm is 2 (kernel, counter), a dropout 3
// (stochastic depth too: draw, scale, apply).
// backward: kernels or calls, clones left out again; a convolution 1, a linear 1 per gradient (input, weight, bias), a
// product of activations 1 per gradient and 1 more where a broadcast factor's is summed, Power 3, concatenation, add,
// copy, view and loss 0, others 1.
// Adds of gradients are not included here.
int forward_host_ops(const Op& op);
int backward_host_ops(const Model& model, OpId op);

// The sums over a model.
struct HostCounts {
  int modules = 0;            // M
  int parameter_tensors = 0;  // P
  int buffer_tensors = 0;     // Bf
  int forward_ops = 0;        // K, training
  int convolutions = 0;       // of backward_ops
  int backward_ops = 0;       // gradient adds included
  int gradient_adds = 0;      // of backward_ops; tied weights included
};
HostCounts host_counts(const Model& model);

}  // namespace lockstep
