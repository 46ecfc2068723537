#include <fmt/format.h>

#include <set>
#include <utility>

#include "models/model_fields.h"
#include "models/model_file.h"
#include "models/row_builder.h"
#include "simulator/base/nearest.h"

namespace lockstep {
namespace {

class ModelReader {
 public:
  explicit ModelReader(const Document& document) : document_(document) {}

  Expected<Model> read() {
    Expected<ModelFile> file = model_fields().read(document_, &reading_);
    if (!file) return tl::make_unexpected(std::move(file.error()));
    if (file->name.empty()) return fail({ErrorKind::Range, "", "a model has a name", "", "", "\"\""}, "name");
    if (RowBuilder::product(file->input_shape) > RowBuilder::kMostElements || file->input_shape.empty()) {
      return fail({ErrorKind::Range, "", "a sample has between one and 1e12 values", "", "", ""}, "input.shape");
    }
    RowBuilder rows(*file);
    if (std::optional<Error> error = add_ops(*file, rows)) return tl::make_unexpected(Errors{*error});
    ModelBuilder& builder = rows.builder();
    if (std::optional<Error> error = finish_parameters(*file, builder)) return tl::make_unexpected(Errors{*error});
    const Op& loss = builder.model().ops.back();
    const std::int64_t logits = elements_of(builder.model().input_shape(loss));
    builder.set_target_elements(file->targets.value_or(logits / loss.row));
    return std::move(builder).finish();
  }

 private:
  std::optional<Error> add_ops(const ModelFile& file, RowBuilder& rows) {
    if (file.ops.empty()) return placed({ErrorKind::Missing, "", "a model has at least one op", "", "", ""}, "ops");
    for (std::size_t i = 0; i < file.ops.size(); ++i) {
      const std::string row = fmt::format("ops[{}]", i);
      if (file.ops[i].op == FileOp::CrossEntropy && i + 1 != file.ops.size()) {
        return placed({ErrorKind::Conflict, "", "the loss is the last op", "", "", ""}, row + ".op");
      }
      if (std::optional<Trouble> trouble = rows.add(file.ops[i])) return placed(*trouble, row + "." + trouble->key);
    }
    if (file.ops.back().op == FileOp::CrossEntropy) return std::nullopt;
    OpRow loss;
    loss.op = FileOp::CrossEntropy;
    if (std::optional<Trouble> trouble = rows.add(loss)) return placed(*trouble, "ops");
    return std::nullopt;
  }

  std::optional<Error> finish_parameters(const ModelFile& file, ModelBuilder& builder) {
    for (std::size_t i = 0; i < file.unused_parameters.size(); ++i) {
      const TensorRow& row = file.unused_parameters[i];
      const std::string key = fmt::format("unused_parameters[{}]", i);
      if (builder.find_parameter(row.name) != nullptr) {
        return placed({ErrorKind::Conflict, "", "an op uses this parameter", "", "", row.name}, key + ".name");
      }
      if (RowBuilder::product(row.shape) > RowBuilder::kMostElements) {
        return placed({ErrorKind::Range, "", "the parameter is too large", "1e12 values", "", ""}, key + ".shape");
      }
      builder.unused_parameter(row.name, row.shape, row.dtype);
    }
    std::set<std::string> seen;
    for (const std::string& name : file.registration) {
      if (!seen.insert(name).second) {
        return placed({ErrorKind::Conflict, "", "a parameter is registered once", "", "", name}, "registration");
      }
      if (builder.find_parameter(name) != nullptr) continue;
      std::vector<std::string> known;
      for (const Parameter& p : builder.model().parameters) known.push_back(p.name);
      return placed({ErrorKind::Range, "", "no op has this parameter", "", did_you_mean(name, known), name},
                    "registration");
    }
    builder.reorder_parameters(file.registration);
    return std::nullopt;
  }

  Error placed(const Trouble& trouble, const std::string& key) const {
    Error error;
    error.kind = trouble.kind;
    error.key = key;
    error.found = trouble.found;
    error.allowed = trouble.allowed;
    error.hint = trouble.hint;
    error.message = trouble.message;
    place_error(error, reading_);
    return error;
  }
  tl::unexpected<Errors> fail(const Trouble& trouble, const std::string& key) const {
    return tl::make_unexpected(Errors{placed(trouble, key)});
  }

  const Document& document_;
  Reading reading_;
};

Expected<Model> read_parsed(const Expected<Document>& document) {
  if (!document) return tl::make_unexpected(document.error());
  return ModelReader(*document).read();
}

}  // namespace

Expected<Model> read_model(std::string_view text, std::string file_name) {
  return read_parsed(parse_document(text, std::move(file_name)));
}

Expected<Model> read_model_file(const std::string& path) {
  return read_parsed(read_document(path));
}

}  // namespace lockstep
