// Private to the exchange library: the events of a Chrome trace as they stand in the file, names stored once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simulator/base/error.h"
#include "simulator/exchange/trace_source.h"
#include "simulator/result/result.h"

namespace lockstep {

enum class EventKind : std::uint8_t { Kernel, Memcpy, Memset, GpuNote, Op, Runtime, Note };

struct TraceEvent {
  double start_us = 0, duration_us = 0;
  std::int64_t correlation = 0;  // 0: none
  std::int64_t bytes = 0;
  std::int32_t name = 0, process = 0, thread = 0;  // indices into `words`
  EventKind kind = EventKind::Op;
  std::int8_t lane = -1, cause = -1;  // as lockstep writes them; -1: not said
};

struct TraceEvents {
  std::vector<TraceEvent> events;
  std::vector<std::string> words;
  std::map<std::int32_t, std::string> process_names;
  std::optional<int> rank;
  int world_size = 0;
  std::string backend;
  bool predicted = false, result = false;  // result: it is a lockstep result
  bool has_list = false;                   // of events
  std::int64_t read = 0;                   // events of any kind
  std::optional<std::string> cut;

  const std::string& word(std::int32_t index) const { return words[static_cast<std::size_t>(index)]; }
};

// Errors: Syntax where nothing was read before the first bad byte; RunFailed where `progress` said false.
Expected<TraceEvents> read_events(TraceSource& source, const std::string& file,
                                  const std::function<bool(double)>& progress);

}  // namespace lockstep
