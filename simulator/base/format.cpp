#include "simulator/base/format.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace lockstep {
namespace {

struct Scale {
  double factor;
  const char* unit;
};

// Rounds first, so that 0.9996 s is "1 s" and not "1000 ms".
double rounded(double value, int digits) {
  const std::string text = fmt::format("{:.{}e}", value, digits - 1);
  double out = value;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// The largest scale that does not exceed the value; the smallest one otherwise. Scales stand largest first.
template <std::size_t N>
std::string scaled(double value, const std::array<Scale, N>& scales) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const double size = std::abs(rounded(value, 3));
  for (const Scale& scale : scales)
    if (size >= scale.factor * (1 - 1e-12)) return format_significant(value / scale.factor) + " " + scale.unit;
  if (value == 0) return fmt::format("0 {}", scales.back().unit);
  return format_significant(value / scales.back().factor) + " " + scales.back().unit;
}

}  // namespace

std::string format_significant(double value, int digits) {
  if (value == 0) return "0";
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const double round = rounded(value, digits);
  const std::string scientific = fmt::format("{:.{}e}", round, digits - 1);
  int exponent = 0;
  const char* digits_of_exponent = scientific.data() + scientific.find('e') + 1;
  if (*digits_of_exponent == '+') ++digits_of_exponent;
  std::from_chars(digits_of_exponent, scientific.data() + scientific.size(), exponent);
  if (exponent < -4 || exponent > 15) return scientific;
  std::string text = fmt::format("{:.{}f}", round, std::max(0, digits - 1 - exponent));
  // Trailing zeros say "measured to here": they stay unless the value is exactly that number.
  const bool exact = std::abs(value - round) <= 1e-12 * std::abs(value);
  if (exact && text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string format_time(double seconds) {
  if (seconds == 0) return "0 s";
  const double size = std::abs(seconds);
  if (size >= 172800) return format_significant(seconds / 86400) + " days";
  if (size >= 7200) return format_significant(seconds / 3600) + " h";
  if (size >= 120) return format_significant(seconds / 60) + " min";
  return scaled(seconds, std::array<Scale, 4>{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}});
}

std::string format_bytes(double bytes) {
  return scaled(bytes,
                std::array<Scale, 5>{
                    {{1099511627776.0, "TiB"}, {1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}, {1, "B"}}});
}

std::string format_rate(double bytes_per_s) {
  return scaled(bytes_per_s,
                std::array<Scale, 5>{{{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}});
}

std::string format_flops(double flop_per_s) {
  return scaled(
      flop_per_s,
      std::array<Scale, 6>{
          {{1e15, "PFLOP/s"}, {1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1e6, "MFLOP/s"}, {1e3, "kFLOP/s"}, {1, "FLOP/s"}}});
}

std::string format_percent(double fraction) {
  return format_significant(fraction * 100) + " %";
}

std::string format_count(std::int64_t count) {
  std::string text = fmt::format("{}", count);
  const std::ptrdiff_t first = text.front() == '-' ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > first; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ' ');
  return text;
}

std::string shortened(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  std::size_t cut = bytes;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0u) == 0x80u) --cut;
  return std::string(text.substr(0, cut)) + "...";
}

std::string format_factor(double factor) {
  return format_significant(factor) + "x";
}

}  // namespace lockstep
