#include "models/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "models/derived.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

constexpr std::size_t kColumns = 7;
constexpr std::size_t kTextColumns = 3;  // left-aligned; numbers are right-aligned
using Cells = std::array<std::string, kColumns>;

std::string count_or_dash(std::int64_t count) {
  return count == 0 ? "-" : format_count(count);
}

std::string shape_text(const Shape& shape) {
  return shape.empty() ? "1" : fmt::format("{}", fmt::join(shape, " x "));
}

std::string aligned(const std::vector<Cells>& rows) {
  std::array<std::size_t, kColumns> width{};
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < kColumns; ++i) {
      const std::string gap = i == 0 ? "" : "  ";
      line +=
          gap + (i < kTextColumns ? fmt::format("{:<{}}", row[i], width[i]) : fmt::format("{:>{}}", row[i], width[i]));
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string totals(const Model& model) {
  const HostCounts counts = host_counts(model);
  const std::int64_t forward = forward_flop(model), backward = backward_flop(model);
  std::string text;
  const auto line = [&text](const char* what, const std::string& value) {
    text += fmt::format("{:<28}{}\n", what, value);
  };
  line("parameters", fmt::format("{} in {} tensors, {}", format_count(parameter_count(model)), model.parameters.size(),
                                 format_bytes(static_cast<double>(parameter_bytes(model)))));
  line("buffers",
       fmt::format("{} tensors, {}", model.buffers.size(), format_bytes(static_cast<double>(buffer_bytes(model)))));
  line("modules", format_count(counts.modules));
  line("forward ops on the host", fmt::format("{}, {} of them convolutions", counts.forward_ops, counts.convolutions));
  line("backward ops on the host",
       fmt::format("{}, {} of them gradient adds", counts.backward_ops, counts.gradient_adds));
  line("FLOP per sample", fmt::format("{} forward, {} backward", format_count(forward), format_count(backward)));
  const std::int64_t kept = saved_activation_bytes_per_sample(model);
  const std::int64_t on_gpu = saved_activation_bytes_per_sample(model, DropoutMask::Byte);
  const auto per_sample = [](std::int64_t bytes) { return format_bytes(static_cast<double>(bytes)) + " per sample"; };
  line("kept for backward", per_sample(kept) + ", without the loss");
  if (on_gpu != kept) line("kept on a GPU", per_sample(on_gpu) + ": dropout masks of 1 byte instead of 4");
  return text;
}

}  // namespace

std::string describe_model(const Model& model) {
  std::vector<Cells> rows{{"name", "op", "output", "parameters", "FLOP", "output B", "kept B"}};
  const std::vector<std::int64_t> kept = saved_activation_bytes(model);
  std::set<ParameterId> counted;  // a tied weight belongs to its first op
  for (std::size_t i = 0; i < model.ops.size(); ++i) {
    const Op& op = model.ops[i];
    std::int64_t parameters = 0;
    for (const ParameterId id : op.parameters) {
      if (counted.insert(id).second) parameters += model.parameter(id).elements();
    }
    const bool is_new = op.kind != OpKind::View && op.kind != OpKind::Split && op.kind != OpKind::Input &&
                        op.kind != OpKind::Parameter && !op.in_place;
    rows.push_back({op.name.empty() ? "-" : op.name, name_of(op.kind), shape_text(op.output),
                    parameters == 0 && !op.parameters.empty() ? "shared" : count_or_dash(parameters),
                    count_or_dash(forward_flop(model, op)),
                    count_or_dash(is_new ? elements_of(op.output) * bytes_of(op.output_dtype) : 0),
                    count_or_dash(kept[i])});
  }
  return fmt::format("{}: one sample is {} of {}\n\n{}\n{}", model.name, shape_text(model.input),
                     name_of(model.input_dtype), aligned(rows), totals(model));
}

}  // namespace lockstep
