#include "simulator/base/format.h"

#include <fmt/format.h>

#include <algorithm>
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

// `exact_short`: without trailing zeros where the value is exactly that number.
std::string significant(double value, int digits, bool exact_short) {
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
  const bool exact = exact_short && std::abs(value - round) <= 1e-12 * std::abs(value);
  if (exact && text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

}  // namespace

std::string format_significant(double value, int digits) {
  return significant(value, digits, true);
}

std::string format_column(double value, int digits) {
  return significant(value, digits, false);
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

std::string format_factor_column(double factor) {
  return format_column(factor) + "x";
}

namespace {

// Bytes of the character at the start of `text` and its code; length 0 where it is no UTF-8.
struct Character {
  std::size_t length = 0;
  char32_t code = 0;
};
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {1, byte(0)};
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return {};
  char32_t code = byte(0) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {};
    code = (code << 6U) | (byte(i) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[length] || code > 0x10ffff || surrogate) return {};
  return {length, code};
}

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}
bool turns_writing(char32_t code) {
  return code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string visible(std::string_view text, bool keep_lines) {
  std::string out;
  while (!text.empty()) {
    const auto [length, code] = first_character(text);
    const char c = text.front();
    if (length == 0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else if (c == '\n' || c == '\t')
      out += keep_lines ? std::string(1, c) : c == '\n' ? "\\n" : "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (is_control(code))
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(code));
    else if (turns_writing(code))
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(code));
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace lockstep
