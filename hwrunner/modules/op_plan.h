// What a Model leaves open and a tensor library must know before it can run an op: which axis a Split is cut along and
// which part each reader takes, how the values of a Copy or View are reordered, which tensors are free after which op.
// Plain C++, no LibTorch. Shapes are those of one sample, as in models/model.h.
//
// Shapes fix what an op costs, not the order of the values within it. Where the shapes of a Copy or View are those of
// attention heads ([positions, heads x width] to [heads, positions, width] and its relatives) or of image patches, the
// values move as in torchvision's and Hugging Face's modules; elsewhere they keep their order.
#pragma once

#include <optional>
#include <vector>

#include "models/model.h"
#include "simulator/base/error.h"

namespace lockstep {

// The part of a Split's output that one op reads.
struct SplitPart {
  std::size_t axis = 0;
  std::int64_t start = 0, length = 0;  // along that axis
  int index = 0;                       // among the readers of this Split, in op order
  bool whole = false;  // the readers cover the Split with parts of equal size: one torch.split serves them all
};

// view as `axes`, permute by `order` (empty: not at all), view as the op's output.
struct Rearrangement {
  Shape axes;
  std::vector<std::int64_t> order;
};

struct OpPlan {
  std::optional<SplitPart> part;  // Copy, View that read a part of a Split
  Rearrangement rearrangement;    // Copy, View
  Shape factors[2];               // Multiply: shapes in which the two inputs broadcast
  bool reads_positions = false;   // Embedding once per batch: its indices are 0, 1, 2, ...
  std::vector<OpId> last_read;    // ops whose output nobody reads after this one
};

// One plan per op. Errors (NotSupported): a Multiply or a Split whose shapes say nothing about which values meet.
Expected<std::vector<OpPlan>> plan_ops(const Model& model);

// Reordering that the shapes of a Copy or View suggest.
Rearrangement rearrangement_of(const Shape& input, const Shape& output);

// Largest index that the model's input may hold + 1, where it holds indices: rows of the largest table that reads it.
std::int64_t input_vocabulary(const Model& model);

}  // namespace lockstep
