// Turns the checked rows of a model file into ops, one after the other. Sizes are checked here before ModelBuilder sees
// them, since it takes a misfit for a bug.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/builder.h"
#include "models/model_fields.h"
#include "simulator/base/error.h"

namespace lockstep {

// Why an op cannot be added: the key of its row at fault and a sentence.
struct Trouble {
  ErrorKind kind = ErrorKind::Conflict;
  std::string key, message, allowed, hint, found;
};

class RowBuilder {
 public:
  explicit RowBuilder(const ModelFile& file);  // the sample's shape must not exceed kMostElements
  std::optional<Trouble> add(const OpRow& row);
  ModelBuilder& builder() { return b_; }

  // Far above any network; keeps sums within 63 bits.
  static constexpr double kMostElements = 1e12;
  static constexpr double kMostFlop = 1e17;
  static double product(const Shape& shape);

 private:
  using Result = std::optional<Trouble>;

  Result find_inputs(const OpRow& row, std::vector<OpId>& inputs) const;
  Result find_input(const std::string& name, std::vector<OpId>& inputs) const;
  Result check_types(const OpRow& row, const std::vector<OpId>& inputs) const;
  Result check_label(const OpRow& row) const;
  Result check_module(OpId id);
  void label(const OpRow& row, OpId id);
  Result check_size(const char* key, double elements, double parameters, double flop);
  Result check_parameter(const char* key, const std::string& name, const Shape& shape, bool must_exist = false) const;
  Result needs_image(OpId x) const;
  Result window(const OpRow& row, OpId x, bool is_pool, ConvAttributes& w) const;

  Result build(const OpRow& row, const std::vector<OpId>& inputs);
  Result conv2d(const OpRow& row, OpId x);
  Result linear(const OpRow& row, OpId x, OpKind kind);
  Result normalise(const OpRow& row, OpId x);
  Result embedding(const OpRow& row, OpId x);
  Result pool(const OpRow& row, OpId x);
  Result adaptive_pool(const OpRow& row, OpId x);
  Result matmul(const OpRow& row, const std::vector<OpId>& inputs);
  Result attention(const OpRow& row, const std::vector<OpId>& inputs);
  Result learned(const OpRow& row);
  Result combine(const OpRow& row, const std::vector<OpId>& inputs);
  Result reshape(const OpRow& row, OpId x);
  Result loss(const std::vector<OpId>& inputs);
  Result dropout(const OpRow& row, OpId x);
  Result elementwise(const OpRow& row, OpId x);

  ModelBuilder b_;
  std::map<std::string, std::optional<OpId>> labels_;  // nothing: a name that several ops have
  std::map<std::string, OpId> modules_;                // the first op with parameters of each name
  double flop_ = 0, elements_ = 0;
};

}  // namespace lockstep
