#include <fmt/format.h>

#include <utility>

#include "models/builder.h"
#include "models/zoo/families.h"

namespace lockstep::zoo_detail {

Expected<Model> mlp(const std::string& name, const ModelOptions& options) {
  ModelBuilder b(name, "samples", {options.inputs.value_or(784)}, DType::Fp32, 1);
  const std::vector<std::int64_t> hidden =
      options.hidden.empty() ? std::vector<std::int64_t>{512, 512} : options.hidden;
  OpId x = b.input();
  int index = 0;
  for (const std::int64_t width : hidden) {
    x = b.linear(x, fmt::format("{}", index++), width);
    x = b.relu(x, fmt::format("{}", index++), false);
  }
  b.cross_entropy(b.linear(x, fmt::format("{}", index), options.outputs.value_or(10)));
  return std::move(b).finish();
}

}  // namespace lockstep::zoo_detail
