#include "simulator/base/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "simulator/base/ensure.h"
#include "simulator/base/format.h"
#include "simulator/base/nearest.h"

namespace lockstep {
namespace {

// value in SI = number * times / over. Two exact integers instead of one factor: 5us is 5/1e6, correctly rounded.
struct UnitText {
  const char* text;
  Unit unit;
  double times, over;
  bool written;  // quantity_text may choose it
};

constexpr double kKi = 1024.0, kMi = kKi * kKi, kGi = kMi * kKi, kTi = kGi * kKi;

constexpr UnitText kUnits[] = {
    {"B", Unit::Bytes, 1, 1, true},
    {"kB", Unit::Bytes, 1e3, 1, true},
    {"MB", Unit::Bytes, 1e6, 1, true},
    {"GB", Unit::Bytes, 1e9, 1, true},
    {"TB", Unit::Bytes, 1e12, 1, true},
    {"KiB", Unit::Bytes, kKi, 1, true},
    {"MiB", Unit::Bytes, kMi, 1, true},
    {"GiB", Unit::Bytes, kGi, 1, true},
    {"TiB", Unit::Bytes, kTi, 1, true},
    {"B/s", Unit::BytesPerSecond, 1, 1, true},
    {"kB/s", Unit::BytesPerSecond, 1e3, 1, true},
    {"MB/s", Unit::BytesPerSecond, 1e6, 1, true},
    {"GB/s", Unit::BytesPerSecond, 1e9, 1, true},
    {"TB/s", Unit::BytesPerSecond, 1e12, 1, true},
    {"KiB/s", Unit::BytesPerSecond, kKi, 1, false},
    {"MiB/s", Unit::BytesPerSecond, kMi, 1, false},
    {"GiB/s", Unit::BytesPerSecond, kGi, 1, false},
    {"b/s", Unit::BytesPerSecond, 1, 8, false},
    {"kb/s", Unit::BytesPerSecond, 1e3, 8, false},
    {"Mb/s", Unit::BytesPerSecond, 1e6, 8, false},
    {"Gb/s", Unit::BytesPerSecond, 1e9, 8, false},
    {"Tb/s", Unit::BytesPerSecond, 1e12, 8, false},
    {"ns", Unit::Seconds, 1, 1e9, true},
    {"us", Unit::Seconds, 1, 1e6, true},
    {"\xc2\xb5s", Unit::Seconds, 1, 1e6, false},  // micro sign
    {"\xce\xbcs", Unit::Seconds, 1, 1e6, false},  // Greek mu
    {"ms", Unit::Seconds, 1, 1e3, true},
    {"s", Unit::Seconds, 1, 1, true},
    {"min", Unit::Seconds, 60, 1, true},
    {"h", Unit::Seconds, 3600, 1, true},
    {"FLOP/s", Unit::FlopPerSecond, 1, 1, true},
    {"kFLOP/s", Unit::FlopPerSecond, 1e3, 1, false},
    {"MFLOP/s", Unit::FlopPerSecond, 1e6, 1, true},
    {"GFLOP/s", Unit::FlopPerSecond, 1e9, 1, true},
    {"TFLOP/s", Unit::FlopPerSecond, 1e12, 1, true},
    {"PFLOP/s", Unit::FlopPerSecond, 1e15, 1, true},
    {"%", Unit::Fraction, 1, 100, true},
    {"img/s", Unit::SampleRate, 1, 1, false},
    {"images/s", Unit::SampleRate, 1, 1, false},
    {"seq/s", Unit::SampleRate, 1, 1, false},
    {"sequences/s", Unit::SampleRate, 1, 1, false},
    {"samples/s", Unit::SampleRate, 1, 1, true},
    {"it/s", Unit::SampleRate, 1, 1, false},
    {"s/it", Unit::SampleRate, 1, 1, false},
    {"ms/it", Unit::SampleRate, 1, 1e3, false},
};

const char* family_name(Unit unit) {
  switch (unit) {
    case Unit::None:
      return "a plain number";
    case Unit::Bytes:
      return "a size in bytes";
    case Unit::BytesPerSecond:
      return "a rate in bytes or bits per second";
    case Unit::Seconds:
      return "a time";
    case Unit::FlopPerSecond:
      return "a speed in FLOP/s";
    case Unit::Fraction:
      return "a percentage or a fraction";
    case Unit::SampleRate:
      return "a training speed";
  }
  LOCKSTEP_ENSURE(false, "unit {}", static_cast<int>(unit));
}

tl::unexpected<Errors> refuse(ErrorKind kind, std::string_view text, std::string message, std::string allowed,
                              std::string hint = "") {
  Error error;
  error.kind = kind;
  error.found = shortened(text);
  error.message = std::move(message);
  error.allowed = std::move(allowed);
  error.hint = std::move(hint);
  return tl::make_unexpected(Errors{std::move(error)});
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

struct Split {
  double number = 0;
  bool overflow = false;
  std::string_view number_text, unit;
};

// Number and rest; nothing when the text does not start with a number. from_chars alone would take inf and nan.
std::optional<Split> split(std::string_view text) {
  text = trimmed(text);
  const std::size_t sign = !text.empty() && text.front() == '-' ? 1 : 0;
  const bool digit = text.size() > sign && text[sign] >= '0' && text[sign] <= '9';
  const bool point = text.size() > sign + 1 && text[sign] == '.' && text[sign + 1] >= '0' && text[sign + 1] <= '9';
  if (!digit && !point) return std::nullopt;
  Split out;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out.number);
  out.overflow = code == std::errc::result_out_of_range;
  const auto used = static_cast<std::size_t>(end - text.data());
  out.number_text = text.substr(0, used);
  out.unit = trimmed(text.substr(used));
  return out;
}

std::string comma_hint(const Split& s) {
  if (s.unit.size() < 2 || s.unit[0] != ',' || s.unit[1] < '0' || s.unit[1] > '9') return "";
  return fmt::format("write a decimal point: `{}.{}`", s.number_text, shortened(s.unit.substr(1), 40));
}

const UnitText* find_unit(std::string_view text) {
  for (const UnitText& u : kUnits)
    if (text == u.text) return &u;
  return nullptr;
}

// What people write for a unit of this family: other case, `Gbps`, `GFLOPS`, `sec`.
std::string unit_hint(const Split& s, Unit unit) {
  if (const std::string hint = comma_hint(s); !hint.empty()) return hint;
  std::string wanted = canonical_name(s.unit);
  const auto replace_end = [&](std::string_view end, std::string_view by) {
    if (wanted.size() <= end.size() || wanted.substr(wanted.size() - end.size()) != end) return;
    wanted = wanted.substr(0, wanted.size() - end.size()) + std::string(by);
  };
  replace_end("bit/s", "b/s");
  replace_end("flops", "flop/s");
  replace_end("ps", "/s");
  std::vector<std::string> same;
  for (const UnitText& u : kUnits)
    if (u.unit == unit && canonical_name(u.text) == wanted) same.push_back(fmt::format("{}{}", s.number_text, u.text));
  if (same.size() == 1) return fmt::format("did you mean `{}`?", same.front());
  if (same.size() == 2) return fmt::format("did you mean `{}` (bytes) or `{}` (bits)?", same[0], same[1]);
  return fmt::format("for example `{}`", example_of(unit));
}

tl::unexpected<Errors> refuse_unit(std::string_view text, const Split& s, Unit unit) {
  const UnitText* other = find_unit(s.unit);
  const std::string found = shortened(s.unit, 40);
  if (s.unit.empty())
    return refuse(ErrorKind::Unit, text, fmt::format("{} needs its unit", family_name(unit)), allowed_units(unit),
                  fmt::format("for example `{}`", example_of(unit)));
  if (other != nullptr)
    return refuse(ErrorKind::Unit, text,
                  fmt::format("`{}` is {}, not {}", found, family_name(other->unit), family_name(unit)),
                  allowed_units(unit), unit_hint(s, unit));
  return refuse(ErrorKind::Unit, text, fmt::format("`{}` is no unit of {}", found, family_name(unit)),
                allowed_units(unit), unit_hint(s, unit));
}

// The number and its unit of the family, or what is wrong.
Expected<std::pair<double, const UnitText*>> read_with_unit(std::string_view text, Unit unit) {
  const std::optional<Split> s = split(text);
  if (!s)
    return refuse(ErrorKind::Type, text, fmt::format("{} starts with a number", family_name(unit)), allowed_units(unit),
                  fmt::format("for example `{}`", example_of(unit)));
  if (s->overflow) return refuse(ErrorKind::Range, text, "the number is too large or too small", allowed_units(unit));
  const UnitText* u = find_unit(s->unit);
  if (u == nullptr || u->unit != unit) return refuse_unit(text, *s, unit);
  if (s->number < 0)
    return refuse(ErrorKind::Range, text, fmt::format("{} cannot be negative", family_name(unit)), allowed_units(unit));
  const double value = s->number * u->times / u->over;
  if (!std::isfinite(value)) return refuse(ErrorKind::Range, text, "the number is too large", allowed_units(unit));
  return std::pair{value, u};
}

}  // namespace

std::string allowed_units(Unit unit) {
  switch (unit) {
    case Unit::None:
      return "a number such as 0.5 or 3e6";
    case Unit::Bytes:
      return "B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024)";
    case Unit::BytesPerSecond:
      return "B/s, kB/s, MB/s, GB/s, TB/s (bytes), Mb/s, Gb/s, Tb/s (bits)";
    case Unit::Seconds:
      return "ns, us, ms, s, min, h";
    case Unit::FlopPerSecond:
      return "FLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, PFLOP/s";
    case Unit::Fraction:
      return "a percentage such as 5%, or a fraction such as 0.05";
    case Unit::SampleRate:
      return "img/s, seq/s, samples/s, it/s, s/it, ms/it";
  }
  LOCKSTEP_ENSURE(false, "unit {}", static_cast<int>(unit));
}

std::string example_of(Unit unit) {
  switch (unit) {
    case Unit::None:
      return "0.5";
    case Unit::Bytes:
      return "25MiB";
    case Unit::BytesPerSecond:
      return "25GB/s";
    case Unit::Seconds:
      return "5us";
    case Unit::FlopPerSecond:
      return "19.5TFLOP/s";
    case Unit::Fraction:
      return "5%";
    case Unit::SampleRate:
      return "2370img/s";
  }
  LOCKSTEP_ENSURE(false, "unit {}", static_cast<int>(unit));
}

Expected<double> parse_number(std::string_view text) {
  const std::optional<Split> s = split(text);
  if (!s) return refuse(ErrorKind::Type, text, "a number is needed here", allowed_units(Unit::None));
  if (s->overflow) return refuse(ErrorKind::Range, text, "the number is too large or too small", "");
  if (find_unit(s->unit) != nullptr)
    return refuse(ErrorKind::Unit, text, fmt::format("a plain number is needed here, without the unit `{}`", s->unit),
                  allowed_units(Unit::None), fmt::format("write `{}`", s->number_text));
  if (!s->unit.empty())
    return refuse(ErrorKind::Type, text, "a number is needed here", allowed_units(Unit::None), comma_hint(*s));
  return s->number;
}

Expected<std::int64_t> parse_integer(std::string_view text) {
  const std::string_view body = trimmed(text);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(body.data(), body.data() + body.size(), value);
  const char* allowed = "a whole number such as 128";
  if (code == std::errc::result_out_of_range) return refuse(ErrorKind::Range, text, "the number is too large", allowed);
  if (code != std::errc{} || end != body.data() + body.size()) {
    const Expected<double> number = parse_number(text);
    const bool whole = number && *number == std::floor(*number) && std::abs(*number) < 1e15;
    std::string hint = whole ? fmt::format("write `{:.0f}`", *number) : "";
    if (body.find_first_of("_, ") != std::string_view::npos) hint = "write the digits without separators";
    return refuse(ErrorKind::Type, text, "a whole number is needed here", allowed, hint);
  }
  const std::size_t first = body.front() == '-' ? 1 : 0;
  if (body.size() > first + 1 && body[first] == '0')
    return refuse(ErrorKind::Type, text, "a number with a leading zero could mean octal or decimal", allowed,
                  fmt::format("write `{}`", value));
  return value;
}

Expected<double> parse_quantity(std::string_view text, Unit unit) {
  LOCKSTEP_ENSURE(unit != Unit::SampleRate, "a sample rate has its own parser: {}", text);
  if (unit == Unit::None) return parse_number(text);
  if (unit == Unit::Fraction) {
    const std::optional<Split> s = split(text);
    if (s && s->unit.empty() && !s->overflow && s->number >= 0) return s->number;
  }
  const auto read = read_with_unit(text, unit);
  if (!read) return tl::make_unexpected(read.error());
  return read->first;
}

Expected<double> parse_share(std::string_view text) {
  const Expected<double> value = parse_quantity(text, Unit::Fraction);
  if (!value || *value <= 1 || text.find('%') != std::string_view::npos) return value;
  Error error;
  error.kind = ErrorKind::Unit;
  error.found = std::string(text);
  error.message = fmt::format("`{}` without a sign would be {:.6g} %", text, *value * 100);
  error.allowed = "a percentage, or a fraction up to 1";
  error.hint = fmt::format("`{}%` or `{:.6g}%`", text, *value * 100);
  return tl::make_unexpected(Errors{error});
}

Expected<std::int64_t> parse_bytes(std::string_view text) {
  const Expected<double> value = parse_quantity(text, Unit::Bytes);
  if (!value) return tl::make_unexpected(value.error());
  if (*value >= 9223372036854775808.0)
    return refuse(ErrorKind::Range, text, "the size is too large", allowed_units(Unit::Bytes));
  if (*value != std::floor(*value))
    return refuse(ErrorKind::Range, text, fmt::format("`{}` is not a whole number of bytes", shortened(text, 40)),
                  allowed_units(Unit::Bytes), fmt::format("write `{:.0f}B`", *value));
  return static_cast<std::int64_t>(*value);
}

Expected<SampleRate> parse_sample_rate(std::string_view text) {
  const auto read = read_with_unit(text, Unit::SampleRate);
  if (!read) return tl::make_unexpected(read.error());
  const auto [value, unit] = *read;
  if (!(value > 0))
    return refuse(ErrorKind::Range, text, "a training speed is above zero", allowed_units(Unit::SampleRate));
  const std::string_view name = unit->text;
  if (name == "s/it" || name == "ms/it") {
    if (!std::isfinite(1 / value))
      return refuse(ErrorKind::Range, text, "the number is too small", allowed_units(Unit::SampleRate));
    return SampleRate{1 / value, true};
  }
  const bool images = name == "img/s" || name == "images/s";
  const bool sequences = name == "seq/s" || name == "sequences/s";
  return SampleRate{value, name == "it/s",
                    images      ? SampleWord::Images
                    : sequences ? SampleWord::Sequences
                                : SampleWord::Any};
}

std::string quantity_text(double si, Unit unit) {
  if (unit == Unit::None) return fmt::format("{}", si);
  if (unit == Unit::SampleRate) return fmt::format("{}samples/s", si);
  std::string best;
  std::size_t best_cost = std::numeric_limits<std::size_t>::max();
  if (unit == Unit::Fraction) {
    best = fmt::format("{}", si);
    best_cost = best.size() + 2;  // a percentage reads better unless it is much longer
  }
  for (const UnitText& u : kUnits) {
    if (u.unit != unit || !u.written) continue;
    const double number = si * u.over / u.times;
    if (number * u.times / u.over != si) continue;
    const std::string text = fmt::format("{}{}", number, u.text);
    const bool small = number != 0 && number < 1;
    const std::size_t cost = text.size() + (small ? 2 : 0) + (text.find('e') != std::string::npos ? 4 : 0);
    if (cost < best_cost) {
      best = text;
      best_cost = cost;
    }
  }
  return best;  // the SI unit itself always fits
}

}  // namespace lockstep
