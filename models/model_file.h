// Model files: YAML that people write, JSON that `lockstep show model NAME --json` writes. JSON is YAML, so one reader
// takes both. Keys: models/model_fields.h; meaning: docs/interface.md.
//
// Shapes follow from the sample's shape and each op's sizes, as in PyTorch. Three ops carry theirs, because nothing
// else fixes them: `view` and `copy` (shape), `matmul` (gemm, and shape when it is not [batch, m, n]).
// `global_avg_pool` gives [channels], so that a linear may follow. A file without `cross_entropy` gets one at its end,
// over the last axis.
#pragma once

#include <string>
#include <string_view>

#include "models/model.h"
#include "simulator/base/error.h"

namespace lockstep {

// Errors: everything wrong with the keys, in file order; else the first op whose sizes do not fit (later ones would
// only follow from it).
Expected<Model> read_model(std::string_view text, std::string file_name);
// The file at `path`. Errors also: Io, Range when it is larger than 8 MiB.
Expected<Model> read_model_file(const std::string& path);

// One op per line, with a read-only `derived` block that the reader ignores. Reading it gives an equal model.
std::string to_model_json(const Model& model);

}  // namespace lockstep
