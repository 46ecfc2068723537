#include "simulator/answers/single_memo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "scenarios/fields.h"

namespace lockstep {
namespace {

// Ending in a dot: all keys below.
constexpr std::array<const char*, 13> kNotFelt = {"question",
                                                  "gpus",
                                                  "strategy",
                                                  "ddp.",
                                                  "accumulate.no_sync",
                                                  "data.",
                                                  "price_per_gpu_hour",
                                                  "topology.fabric",
                                                  "topology.override.nvlink.",
                                                  "topology.override.nic.",
                                                  "topology.override.wan.",
                                                  "software.nccl",
                                                  "input.dp_copy"};

void append(std::string& key, const Scalar& scalar) {
  if (const auto* text = std::get_if<std::string>(&scalar))
    key += fmt::format("{}:{}", text->size(), *text);
  else if (const auto* whole = std::get_if<std::int64_t>(&scalar))
    key += fmt::format("{}", *whole);
  else if (const auto* real = std::get_if<double>(&scalar))
    key += fmt::format("{}", *real);  // the shortest text that reads back to the same bits
  else
    key += std::get<bool>(scalar) ? 't' : 'f';
  key += ' ';
}

// Every value of a struct, or those of the fields that `wanted` marks.
void append(std::string& key, const TableInfo& table, const void* values, const std::vector<bool>* wanted = nullptr) {
  for (std::size_t i = 0; i < table.fields.size(); ++i) {
    if (wanted != nullptr && !(*wanted)[i]) continue;
    const FieldInfo& field = table.fields[i];
    if (field.fetch_rows) {
      for (const void* row : field.fetch_rows(values)) {
        append(key, *field.row_table, row);
        key += ';';
      }
    } else if (field.fetch) {
      if (const auto scalars = field.fetch(values))
        for (const Scalar& scalar : *scalars) append(key, scalar);
      else
        key += '-';
    } else if (field.print_custom) {
      append(key, Scalar(field.print_custom(values).value_or("-")));
    }
    key += ',';
  }
}

std::string key_of(const PointInputs& inputs) {
  static const TableInfo& table = scenario_fields().info();
  static const std::vector<bool> felt = [] {
    std::vector<bool> all;
    for (const FieldInfo& field : table.fields) all.push_back(one_gpu_feels(field.key));
    return all;
  }();
  std::string key = fmt::format("{}\n{} {} {} {}\n", inputs.scenario->file, inputs.per_gpu_batch, inputs.micro_steps,
                                inputs.kernel_factor, inputs.host_scale);
  append(key, table, inputs.scenario, &felt);
  return key;
}

}  // namespace

bool one_gpu_feels(const std::string& key) {
  return std::none_of(kNotFelt.begin(), kNotFelt.end(), [&](const std::string name) {
    return name.back() == '.' ? key.rfind(name, 0) == 0 : key == name;
  });
}

template <class V>
void SingleMemo::Kept<V>::put(const std::string& key, const V& value) {
  values.emplace(key, value);
  order.push_back(key);
  if (order.size() <= kMost) return;
  values.erase(order.front());
  order.pop_front();
}

PointSource SingleMemo::around(PointSource source) {
  PointSource memo;
  memo.run = [this, run = source.run](const PointInputs& inputs, const PointOptions& options) -> Expected<Run> {
    if (inputs.strategy != Strategy::Single || options.timeline || options.parts || options.times_only)
      return run(inputs, options);
    const std::string key = fmt::format("{} ", static_cast<int>(options.method)) + key_of(inputs);
    if (const auto known = runs_.values.find(key); known != runs_.values.end()) return known->second;
    Expected<Run> made = run(inputs, options);
    if (made) runs_.put(key, *made);
    return made;
  };
  memo.calibrate = [this, calibrate = source.calibrate](const PointInputs& single, double measured_step_s) {
    const std::string key = fmt::format("{} ", measured_step_s) + key_of(single);
    if (const auto known = calibrations_.values.find(key); known != calibrations_.values.end()) return known->second;
    const KernelCalibration made = calibrate(single, measured_step_s);
    calibrations_.put(key, made);
    return made;
  };
  return memo;
}

}  // namespace lockstep
