#include "simulator/answers/solve_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "scenarios/fields.h"
#include "simulator/base/nearest.h"
#include "simulator/base/quantity.h"
#include "topologies/rates.h"

namespace lockstep {
namespace {

constexpr double kMostGpus = 16384;  // beyond that a prediction takes long

tl::unexpected<Errors> wrong(ErrorKind kind, const std::string& found, std::string message, std::string allowed = "",
                             std::string hint = "") {
  Error error;
  error.kind = kind;
  error.file = "command line";
  error.key = "--for";
  error.found = found;
  error.message = std::move(message);
  error.allowed = std::move(allowed);
  error.hint = std::move(hint);
  return tl::make_unexpected(Errors{error});
}

bool can_be_solved(const FieldInfo& field) {
  const bool number =
      field.type == FieldType::Quantity || field.type == FieldType::Number || field.type == FieldType::Integer;
  return number && field.fetch && (!field.list || field.key == "gpus") && field.key != "seed";
}

bool is_whole(const FieldInfo& field) {
  return field.type == FieldType::Integer || (field.type == FieldType::Quantity && field.unit == Unit::Bytes);
}

double number_in(const Scalar& scalar) {
  if (const auto* whole = std::get_if<std::int64_t>(&scalar)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&scalar)) return *real;
  return 0;
}

double image_of(const Model& model) {
  return model.input.size() == 3 ? static_cast<double>(model.input.back()) : 0;
}
double sequence_of(const Model& model) {
  return model.input.size() == 1 ? static_cast<double>(model.input.front()) : 0;
}

// Of NVLink, PCIe, the host and uplinks: comes on top of what the link has.
bool is_added_latency(const std::string& key) {
  for (const char* link : {"nvlink", "pcie", "host", "uplink"})
    if (key == std::string("topology.override.") + link + ".latency") return true;
  return false;
}

// What a key that is not given stands for; 1 of its unit where nothing is known.
double value_when_unset(const FieldInfo& field, const Inputs& inputs) {
  const Topology& t = inputs.topology;
  const std::map<std::string, double> known = {{"topology.override.nvlink.rate", nvlink_rate(t)},
                                               {"topology.override.pcie.rate", pcie_slot_rate(t)},
                                               {"topology.override.uplink.rate", pcie_uplink_rate(t)},
                                               {"topology.override.host.rate", host_rate(t)},
                                               {"topology.override.nic.rate", nics_of(t).rate},
                                               {"topology.override.nic.latency", border_latency(t)},
                                               {"host.factor", t.node.host.factor},
                                               {"host.cores", t.node.host.cores},
                                               {"loader.sample_cost.mean", 1e-3},
                                               {"topology.gpus_per_node", t.gpus_per_node},
                                               {"model.image", image_of(inputs.model)},
                                               {"model.sequence", sequence_of(inputs.model)},
                                               {"ddp.bucket_cap", 25.0 * (1 << 20)},
                                               {"ddp.first_bucket", 1 << 20}};
  const auto found = known.find(field.key);
  if (found != known.end() && found->second > 0) return found->second;
  if (field.unit == Unit::BytesPerSecond) return 1e9;
  if (field.unit == Unit::Bytes) return 1 << 20;
  return field.unit == Unit::Seconds ? 1e-6 : 1;
}

}  // namespace

Expected<SolveKey> SolveKey::find(const std::string& key, const Inputs& inputs) {
  const TableInfo& table = scenario_fields().info();
  const FieldInfo* field = table.find(key);
  if (field == nullptr) {
    std::vector<std::string> names;
    for (const FieldInfo& one : table.fields)
      if (can_be_solved(one)) names.push_back(one.key);
    return wrong(ErrorKind::UnknownKey, key, fmt::format("a scenario has no key `{}`", key), "",
                 did_you_mean(key, names));
  }
  if (!can_be_solved(*field))
    return wrong(ErrorKind::Type, key, fmt::format("`{}` is no number to solve for", key),
                 "keys with one number or quantity, and gpus", "topology.override.nic.rate");
  if (key.rfind("batch.", 0) == 0 && inputs.scenario().calibrate_single_gpu)
    return wrong(ErrorKind::Conflict, key, "calibrate.single_gpu holds for one batch only", "",
                 "leave calibrate.single_gpu out");
  return SolveKey(*field);
}

const char* SolveKey::unit() const {
  switch (field_->unit) {
    case Unit::Bytes:
      return "B";
    case Unit::BytesPerSecond:
      return "B/s";
    case Unit::Seconds:
      return "s";
    case Unit::FlopPerSecond:
      return "FLOP/s";
    default:
      return "";
  }
}

double SolveKey::present(const Inputs& inputs) const {
  const Scenario& scenario = inputs.scenario();
  const auto scalars = field_->fetch(&scenario);
  if (!scalars || scalars->empty()) return is_added_latency(name()) ? 0 : value_when_unset(*field_, inputs);
  double most = 0;
  for (const Scalar& scalar : *scalars) most = std::max(most, number_in(scalar));
  return most;
}

double SolveKey::start(const Inputs& inputs) const {
  const double now = present(inputs);
  return now > 0 ? now : value_when_unset(*field_, inputs);
}

SearchRange SolveKey::range() const {
  SearchRange range;
  range.whole = is_whole(*field_);
  range.neighbours = range.whole && field_->unit != Unit::Bytes;
  range.low = field_->low.value_or(0);
  range.high = field_->high.value_or(1e18);
  range.zero_now = range.whole && field_->low == 0.0;
  if (range.whole) range.low = std::max(range.low, 1.0);
  range.low_open = field_->low_open;
  range.skips = field_->type == FieldType::Integer;  // a batch that cannot be shared out
  range.seeks_last = is_gpus();                      // the most GPUs that the machine holds
  if (is_gpus()) {
    range.high = std::min(range.high, kMostGpus);
  } else {
    range.low_end = field_->low;
    range.high_end = field_->high;
  }
  return range;
}

std::string SolveKey::text(double value) const {
  if (field_->type == FieldType::Quantity) return quantity_text(value, field_->unit);
  return field_->type == FieldType::Integer ? fmt::format("{}", static_cast<std::int64_t>(value))
                                            : fmt::format("{}", value);
}

std::string SolveKey::set(double value) const {
  return name() + "=" + text(value);
}

}  // namespace lockstep
