// Numbers for people: three significant digits and a unit that keeps them between 1 and 1000. No locale changes them.
// For text that a program reads back exactly, use quantity_text (base/quantity.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

std::string format_significant(double value, int digits = 3);  // 0.0561, 12.8, 18300; no exponent from 1e-4 to 1e15
std::string format_time(double seconds);                       // "56.1 ms", "28.5 min", "1.25 h", "3.4 us", "0 s"
std::string format_bytes(double bytes);                        // "25 MiB" (powers of 1024; B, KiB, MiB, GiB, TiB)
std::string format_rate(double bytes_per_s);                   // "25 GB/s" (powers of 1000)
std::string format_flops(double flop_per_s);                   // "19.5 TFLOP/s"
std::string format_percent(double fraction);                   // 0.963 -> "96.3 %"
std::string format_count(std::int64_t count);                  // 25557032 -> "25 557 032"
// As format_significant, with trailing zeros: for numbers that stand below each other, 2.00, 64.0, 128.
std::string format_column(double value, int digits = 3);
// At most `bytes` bytes of UTF-8 text, whole characters, with "..." where something was cut.
std::string shortened(std::string_view text, std::size_t bytes = 120);
// Text that may come from anybody's file, harmless for a terminal: control characters, marks that turn the direction of
// writing, and bytes that are no UTF-8 as `\n`, `\x1b`, `\u202e` (the escapes of YAML's double quotes). `keep_lines`:
// newlines and tabs stay.
std::string visible(std::string_view text, bool keep_lines = false);
// "2.22x", the factor between two times; in a column with its trailing zeros.
std::string format_factor(double factor);
std::string format_factor_column(double factor);

}  // namespace lockstep
