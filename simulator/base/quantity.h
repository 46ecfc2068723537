// Quantities with units as people write them (`25MiB`, `200Gb/s`, `5 us`, `19.5TFLOP/s`, `5%`), to and from SI.
// k, M, G, T are powers of 1000; Ki, Mi, Gi, Ti powers of 1024. `B` is a byte, `b` a bit (rates only).
// No locale changes what is read or written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "simulator/base/error.h"

namespace lockstep {

enum class Unit {
  None,            // a plain number
  Bytes,           // 25MiB, 80GB -> bytes
  BytesPerSecond,  // 25GB/s, 200Gb/s (bits) -> bytes/s
  Seconds,         // 5us, 30ms, 2s, 1.5h -> s
  FlopPerSecond,   // 19.5TFLOP/s -> FLOP/s
  Fraction,        // 5%, 0.05 -> 1 (the only unit that may be left out)
  SampleRate,      // 2370img/s, 12it/s, 0.4s/it: see parse_sample_rate
};

// What may stand there, for messages and docs: "bytes: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB".
std::string allowed_units(Unit unit);
// A well-formed value to imitate: "25MiB".
std::string example_of(Unit unit);

// A plain number: decimal, optional fraction and exponent; no `1_000`, `0x10`, `1,5`, leading `+`, inf or nan.
// Errors here and below have kind, found, allowed, hint and message; file, place and key are the caller's to fill.
Expected<double> parse_number(std::string_view text);
// A whole number without leading zeros (`010` reads as 8 elsewhere), fraction or exponent.
Expected<std::int64_t> parse_integer(std::string_view text);

// Text to SI in `unit` (not SampleRate). Errors: Type (no number), Unit (none, unknown, or of another family), Range
// (negative, beyond a double).
Expected<double> parse_quantity(std::string_view text, Unit unit);
// A fraction of people's command lines: a bare number above 1 is refused (Unit), because `10` is more often meant as
// 10%.
Expected<double> parse_share(std::string_view text);
// Bytes as a whole number: also refuses `0.3B` and more than 2^63-1.
Expected<std::int64_t> parse_bytes(std::string_view text);

// What the unit of a speed says of a sample: img/s and images/s, seq/s and sequences/s, or nothing.
enum class SampleWord { Any, Images, Sequences };

// A measured speed. An iteration is one micro-batch; its size is the caller's to know.
struct SampleRate {
  double per_second = 0;
  bool iterations = false;  // false: samples (img, images, seq, samples) per second
  SampleWord word = SampleWord::Any;
  bool operator==(const SampleRate&) const = default;
};
Expected<SampleRate> parse_sample_rate(std::string_view text);

// The shortest text that parses back to exactly this value: 26214400 -> "25MiB", 2.5e10 -> "25GB/s".
std::string quantity_text(double si, Unit unit);

}  // namespace lockstep
