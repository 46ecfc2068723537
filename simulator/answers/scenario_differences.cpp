#include "simulator/answers/scenario_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "simulator/base/document.h"
#include "simulator/base/quantity.h"

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 5> kIdentity = {"model", "batch", "precision", "tf32", "topology"};
constexpr std::array<std::string_view, 10> kBeside = {"question", "gpus", "strategy",           "calibrate", "noise",
                                                      "measure",  "data", "price_per_gpu_hour", "seed",      "host"};

template <std::size_t N>
bool in(const std::array<std::string_view, N>& groups, std::string_view key) {
  const std::string_view group = key.substr(0, key.find('.'));
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

bool is_identity(const std::string& key) {
  return in(kIdentity, key) || key == "accumulate.steps";
}

bool is_setting(const std::string& key) {
  return !in(kBeside, key);
}

bool same_scalar(const Value& a, const Value& b) {
  if (a.text == b.text) return true;
  const auto x = parse_number(a.text), y = parse_number(b.text);
  return x && y && *x == *y;
}

bool same(const Value& a, const Value& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Value::Kind::Null:
      return true;
    case Value::Kind::Scalar:
      return same_scalar(a, b);
    case Value::Kind::List:
      return a.items.size() == b.items.size() && std::equal(a.items.begin(), a.items.end(), b.items.begin(), same);
    case Value::Kind::Map:
      break;
  }
  return a.entries.size() == b.entries.size() &&
         std::all_of(a.entries.begin(), a.entries.end(), [&](const Entry& entry) {
           const Value* other = b.find(entry.key);
           return other != nullptr && same(entry.value, *other);
         });
}

void collect(const Value& a, const Value& b, const std::string& path, std::vector<ScenarioDifference>& out) {
  for (const Entry& entry : a.entries) {
    const Value* other = b.find(entry.key);
    const std::string key = path + entry.key;
    if (other == nullptr)
      out.push_back({key, to_flow_yaml(entry.value), ""});
    else if (entry.value.kind == Value::Kind::Map && other->kind == Value::Kind::Map)
      collect(entry.value, *other, key + ".", out);
    else if (!same(entry.value, *other))
      out.push_back({key, to_flow_yaml(entry.value), to_flow_yaml(*other)});
  }
  for (const Entry& entry : b.entries)
    if (a.find(entry.key) == nullptr) out.push_back({path + entry.key, "", to_flow_yaml(entry.value)});
}

// A file of another version may not know a setting; what is trained has no such keys.
bool is_of_one_version(const ScenarioDifference& d) {
  return (d.value.empty() || d.other.empty()) && !is_identity(d.key);
}

// How many of one machine's cores may be ranks: measure --here sets it to those that there are.
bool is_cores_held(const ScenarioDifference& d, const std::vector<ScenarioDifference>& all, const Result& result) {
  return d.key == "topology.gpus_per_node" && result.scenario_yaml.find("node: cpu-host") != std::string::npos &&
         std::none_of(all.begin(), all.end(), [](const ScenarioDifference& one) { return one.key == "topology.node"; });
}

}  // namespace

std::vector<ScenarioDifference> scenario_differences(const std::string& yaml, const std::string& other) {
  std::vector<ScenarioDifference> out;
  const auto a = parse_document(yaml, "scenario"), b = parse_document(other, "scenario");
  if (a && b) collect(a->root, b->root, "", out);
  return out;
}

std::vector<ScenarioDifference> unlike_keys(const Result& result, const Result& reference, bool settings) {
  const auto all = scenario_differences(result.scenario_yaml, reference.scenario_yaml);
  std::vector<ScenarioDifference> unlike;
  for (const ScenarioDifference& d : all)
    if ((is_identity(d.key) || (settings && is_setting(d.key))) && !is_of_one_version(d) &&
        !is_cores_held(d, all, result))
      unlike.push_back(d);
  return unlike;
}

std::string differences_text(const std::vector<ScenarioDifference>& differences, std::size_t most) {
  const auto told = [](const std::string& value) { return value.empty() ? std::string("not set") : value; };
  std::vector<std::string> words;
  for (const ScenarioDifference& d : differences) {
    if (words.size() == most) break;
    words.push_back(fmt::format("{} {} ({})", d.key, told(d.value), told(d.other)));
  }
  std::string text = fmt::format("{}", fmt::join(words, ", "));
  if (differences.size() > most) text += fmt::format(" and {} more", differences.size() - most);
  return text;
}

}  // namespace lockstep
