// A broken invariant of lockstep itself: prints the condition, the place and both values, then aborts.
// Never for bad input (that is base/error.h).
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace lockstep::detail {
[[noreturn]] inline void ensure_failed(const char* condition, const char* file, int line, const std::string& values) {
  std::fprintf(stderr, "lockstep: broken invariant at %s:%d: %s (%s)\n", file, line, condition, values.c_str());
  std::abort();
}
}  // namespace lockstep::detail

// LOCKSTEP_ENSURE(a < b, "a {} b {}", a, b): kept in release builds.
#define LOCKSTEP_ENSURE(condition, ...)                                                            \
  do {                                                                                             \
    if (!(condition)) [[unlikely]]                                                                 \
      ::lockstep::detail::ensure_failed(#condition, __FILE__, __LINE__, fmt::format(__VA_ARGS__)); \
  } while (false)
