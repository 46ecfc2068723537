#include "gui/app/slider_scale.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "simulator/base/quantity.h"

namespace lockstep::gui {
namespace {

constexpr double kMiB = 1 << 20;

struct Usual {
  double low, high;
  bool logarithmic;
};

// Where sliders end; the number box takes all that the table allows.
const std::map<std::string, Usual>& usual_ranges() {
  static const std::map<std::string, Usual> ranges = {{"batch.per_gpu", {1, 1024, true}},
                                                      {"batch.global", {8, 16384, true}},
                                                      {"model.image", {16, 512, true}},
                                                      {"model.sequence", {16, 4096, true}},
                                                      {"ddp.bucket_cap", {kMiB, 1024 * kMiB, true}},
                                                      {"ddp.first_bucket", {kMiB / 16, 64 * kMiB, true}},
                                                      {"accumulate.steps", {1, 32, true}},
                                                      {"loader.workers_per_process", {0, 32, false}},
                                                      {"loader.sample_cost.mean", {1e-4, 0.1, true}},
                                                      {"loader.prefetch_factor", {1, 16, true}},
                                                      {"noise.jitter.sigma", {0, 0.3, false}},
                                                      {"noise.runs", {10, 2000, true}},
                                                      {"host.factor", {0.1, 10, true}},
                                                      {"host.cores", {1, 256, true}},
                                                      {"topology.gpus_per_node", {1, 16, false}},
                                                      {"measure.steps", {1, 200, true}},
                                                      {"measure.warm_up", {2, 50, true}},
                                                      {"measure.repeats", {1, 20, false}},
                                                      {"measure.threads_per_rank", {1, 64, true}},
                                                      {"data.samples", {1000, 1e7, true}},
                                                      {"data.epochs", {1, 300, true}},
                                                      {"price_per_gpu_hour", {0.1, 20, true}}};
  return ranges;
}

std::optional<Usual> usual_range(const FieldInfo& field) {
  const auto known = usual_ranges().find(field.key);
  if (known != usual_ranges().end()) return known->second;
  if (field.key.rfind("topology.override.", 0) == 0)
    return field.unit == Unit::Seconds ? Usual{1e-7, 1e-2, true} : Usual{1e8, 1e12, true};
  if (field.low && field.high && *field.low > 0 && *field.high / *field.low <= 2000)
    return Usual{*field.low, *field.high, *field.high / *field.low > 20};
  return std::nullopt;
}

double to_digits(double value, int digits) {
  if (value == 0) return 0;
  const double power = std::pow(10, std::floor(std::log10(std::abs(value))) - (digits - 1));
  return std::round(value / power) * power;
}

}  // namespace

int SliderScale::position(double value) const {
  const double held = std::clamp(value, low, high);
  const double share = logarithmic ? std::log(held / low) / std::log(high / low) : (held - low) / (high - low);
  return static_cast<int>(std::lround(share * kSliderSteps));
}

double SliderScale::value(int position) const {
  if (position <= 0) return low;
  if (position >= kSliderSteps) return high;
  const double share = static_cast<double>(position) / kSliderSteps;
  return rounded(logarithmic ? low * std::pow(high / low, share) : low + share * (high - low));
}

double SliderScale::rounded(double value) const {
  if (unit == Unit::Bytes) {
    const double step = value >= 64 * kMiB ? 4 * kMiB : value >= kMiB ? kMiB : 1024;
    return std::max(step, std::round(value / step) * step);
  }
  const double round = to_digits(value, 2);
  return whole ? std::round(value < 100 ? value : round) : round;
}

double SliderScale::stepped(double value, int steps) const {
  double next = logarithmic ? value * std::pow(2, steps) : value + steps * (whole ? 1 : (high - low) / 50);
  if (whole) next = std::round(next);
  return std::clamp(next, std::min(low, value), std::max(high, value));
}

std::string SliderScale::yaml(double value) const {
  if (unit == Unit::None) return whole ? fmt::format("{}", std::llround(value)) : fmt::format("{:.6g}", value);
  if (unit == Unit::Bytes) return quantity_text(std::round(value), unit);
  return quantity_text(to_digits(value, 12), unit);
}

std::optional<SliderScale> slider_scale(const FieldInfo& field, std::optional<double> value) {
  const bool numeric =
      field.type == FieldType::Integer || field.type == FieldType::Number || field.type == FieldType::Quantity;
  if (!numeric || field.list || field.key == "seed") return std::nullopt;
  const auto usual = usual_range(field);
  SliderScale scale;
  scale.unit = field.type == FieldType::Quantity ? field.unit : Unit::None;
  scale.whole = field.type == FieldType::Integer;
  if (usual) {
    scale.low = usual->low;
    scale.high = usual->high;
    scale.logarithmic = usual->logarithmic;
  } else if (value && *value > 0) {
    scale.low = *value / 32;
    scale.high = *value * 32;
    scale.logarithmic = true;
    if (scale.whole) scale.low = std::max(1.0, std::floor(scale.low));
  } else {
    return std::nullopt;
  }
  if (field.low) scale.low = std::max(scale.low, *field.low);
  if (field.high) scale.high = std::min(scale.high, *field.high);
  if (value && (*value > 0 || !scale.logarithmic)) {
    scale.low = std::min(scale.low, *value);
    scale.high = std::max(scale.high, *value);
  }
  if (!(scale.high > scale.low)) return std::nullopt;
  return scale;
}

std::optional<double> number_of(const std::string& yaml, Unit unit) {
  const auto value = unit == Unit::None ? parse_number(yaml) : parse_quantity(yaml, unit);
  if (!value) return std::nullopt;
  return *value;
}

std::vector<int> gpus_up_to(const std::vector<int>& list, int most) {
  std::vector<int> out;
  for (const int g : list)
    if (g < most) out.push_back(g);
  std::sort(out.begin(), out.end());
  if (out.empty() && list.size() > 1) out.push_back(std::max(1, most / 2));
  if (!out.empty())
    for (int g = out.back() * 2; g < most; g *= 2) out.push_back(g);
  if (out.empty() || out.back() != most) out.push_back(most);
  return out;
}

std::string list_yaml(const std::vector<int>& list) {
  return list.size() == 1 ? fmt::format("{}", list.front()) : fmt::format("[{}]", fmt::join(list, ", "));
}

std::vector<int> list_of(const std::string& yaml) {
  std::vector<int> out;
  std::string word;
  for (const char c : yaml + ",") {
    if (c == '[' || c == ']') continue;
    if (c != ',' && c != ' ' && c != '\t' && c != '\n' && c != '\r') {
      word += c;
      continue;
    }
    if (word.empty()) continue;
    const auto number = parse_integer(word);
    if (!number || *number < 1 || *number > 1'000'000) return {};
    out.push_back(static_cast<int>(*number));
    word.clear();
  }
  return out;
}

}  // namespace lockstep::gui
