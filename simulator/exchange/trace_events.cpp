#include "simulator/exchange/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

using nlohmann::json;

constexpr std::int64_t kTellEvery = 2048;  // events
constexpr std::size_t kLongestName = 160;  // of a span; kernels of templates have thousands
constexpr double kLargest_us = 1e18;       // a time that is none

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::optional<EventKind> kind_of_category(const std::string& category) {
  static const std::map<std::string, EventKind> kinds = {{"kernel", EventKind::Kernel},
                                                         {"gpu_memcpy", EventKind::Memcpy},
                                                         {"memcpy", EventKind::Memcpy},
                                                         {"gpu_memset", EventKind::Memset},
                                                         {"memset", EventKind::Memset},
                                                         {"gpu_user_annotation", EventKind::GpuNote},
                                                         {"cpu_op", EventKind::Op},
                                                         {"operator", EventKind::Op},
                                                         {"cuda_runtime", EventKind::Runtime},
                                                         {"cuda_driver", EventKind::Runtime},
                                                         {"runtime", EventKind::Runtime},
                                                         {"hip_runtime", EventKind::Runtime},
                                                         {"user_annotation", EventKind::Note}};
  const auto found = kinds.find(lower(category));
  return found == kinds.end() ? std::nullopt : std::optional(found->second);
}

double bytes_of_type(const std::string& type) {
  const std::string name = lower(type);
  if (name.find("double") != std::string::npos || name.find("long") != std::string::npos) return 8;
  if (name.find("half") != std::string::npos || name.find("bfloat16") != std::string::npos) return 2;
  return name == "byte" || name == "char" || name == "bool" ? 1 : 4;
}

// `void at::native::f<128, 4>(int)` is at::native::f.
std::string short_name(std::string name) {
  if (name.size() <= kLongestName) return name;
  if (name.starts_with("void ")) name.erase(0, 5);
  const std::size_t end = name.find_first_of("<(");
  if (end != std::string::npos && end > 0) name.resize(end);
  if (name.size() > kLongestName) name.resize(kLongestName);
  return name;
}

// A value of JSON that may be a number or a text: process and thread ids are both in traces.
struct Value {
  enum class Is { Nothing, Number, Text } is = Is::Nothing;
  double number = 0;
  std::string text;
};

// The events of nlohmann's parser, in order: names a place in the document by depth, and keeps what is asked for.
class Listener {
 public:
  Listener(TraceEvents& out, TraceSource& source, const std::function<bool(double)>& progress)
      : out_(out), source_(source), progress_(progress) {}

  bool stopped() const { return stopped_; }
  const std::string& failure() const { return failure_; }

  bool null() { return value({}); }
  bool boolean(bool) { return value({}); }
  bool number_integer(std::int64_t v) { return value({Value::Is::Number, static_cast<double>(v), {}}); }
  bool number_unsigned(std::uint64_t v) { return value({Value::Is::Number, static_cast<double>(v), {}}); }
  bool number_float(double v, const std::string&) { return value({Value::Is::Number, v, {}}); }
  bool string(std::string& v) { return value({Value::Is::Text, 0, std::move(v)}); }
  bool binary(json::binary_t&) { return true; }

  bool start_object(std::size_t) { return enter(false); }
  bool start_array(std::size_t) { return enter(true); }
  bool key(std::string& name) {
    key_ = name;
    return true;
  }
  bool end_object() { return leave(); }
  bool end_array() { return leave(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
    failure_ = error.what();
    return false;
  }

 private:
  enum class In { Document, List, Event, Arguments, Distributed, Other };

  bool enter(bool array) {
    In next = In::Other;
    if (places_.empty()) {
      next = array ? In::List : In::Document;
      out_.has_list |= array;
    } else if (places_.back() == In::Document && array && key_ == "traceEvents") {
      next = In::List;
      out_.has_list = true;
    } else if (places_.back() == In::Document && !array && key_ == "distributedInfo") {
      next = In::Distributed;
    } else if (places_.back() == In::List && !array) {
      next = In::Event;
      fields_.clear();
      arguments_.clear();
    } else if (places_.back() == In::Event && !array && key_ == "args") {
      next = In::Arguments;
    }
    places_.push_back(next);
    return true;
  }

  bool leave() {
    const In left = places_.back();
    places_.pop_back();
    return left != In::Event || take();
  }

  bool value(Value v) {
    if (places_.empty()) return true;
    switch (places_.back()) {
      case In::Event:
        keep(fields_, {"ph", "cat", "name", "pid", "tid", "ts", "dur"}, std::move(v));
        break;
      case In::Arguments:
        keep(arguments_,
             {"name", "bytes", "cause", "lane", "what", "correlation", "Collective name", "In msg nelems", "dtype"},
             std::move(v));
        break;
      case In::Document:
        out_.result |= key_ == "format" && v.text == "lockstep-result";
        out_.predicted |= key_ == "traceName" && v.text == "lockstep prediction";
        break;
      case In::Distributed:
        if (key_ == "rank" && v.is == Value::Is::Number) out_.rank = static_cast<int>(v.number);
        if (key_ == "world_size" && v.is == Value::Is::Number) out_.world_size = static_cast<int>(v.number);
        if (key_ == "backend") out_.backend = v.text;
        break;
      default:
        break;
    }
    return true;
  }

  using Fields = std::vector<std::pair<const char*, Value>>;
  void keep(Fields& fields, std::initializer_list<const char*> wanted, Value v) {
    for (const char* name : wanted)
      if (key_ == name) fields.emplace_back(name, std::move(v));
  }
  static const Value& field(const Fields& fields, std::string_view name) {
    static const Value nothing;
    for (const auto& [key, v] : fields)
      if (key == name) return v;
    return nothing;
  }

  std::int32_t word(const Value& v) { return word(v.is == Value::Is::Number ? fmt::format("{}", v.number) : v.text); }
  std::int32_t word(const std::string& text) {
    const auto [at, is_new] = index_.try_emplace(text, static_cast<std::int32_t>(out_.words.size()));
    if (is_new) out_.words.push_back(text);
    return at->second;
  }

  bool take() {
    if (++out_.read % kTellEvery == 0 && progress_ && !progress_(source_.share())) {
      stopped_ = true;
      return false;
    }
    const std::string& phase = field(fields_, "ph").text;
    if (phase == "M" && field(fields_, "name").text == "process_name")
      out_.process_names[word(field(fields_, "pid"))] = field(arguments_, "name").text;
    if (phase != "X") return true;
    const auto kind = kind_of_category(field(fields_, "cat").text);
    const Value &start = field(fields_, "ts"), &duration = field(fields_, "dur");
    if (!kind || start.is != Value::Is::Number || std::abs(start.number) > kLargest_us) return true;
    TraceEvent event;
    event.kind = *kind;
    event.start_us = start.number;
    if (duration.is == Value::Is::Number && duration.number > 0 && duration.number < kLargest_us)
      event.duration_us = duration.number;
    event.process = word(field(fields_, "pid"));
    event.thread = word(field(fields_, "tid"));
    const Value& what = field(arguments_, "what");
    event.name = word(short_name(what.is == Value::Is::Text ? what.text : field(fields_, "name").text));
    event.correlation = static_cast<std::int64_t>(field(arguments_, "correlation").number);
    event.bytes = bytes();
    if (const auto cause = cause_of(field(arguments_, "cause").text)) event.cause = static_cast<std::int8_t>(*cause);
    if (const auto lane = lane_of(field(arguments_, "lane").text)) event.lane = static_cast<std::int8_t>(*lane);
    if (is_collective(event)) event.lane = static_cast<std::int8_t>(Lane::Communication);
    out_.events.push_back(event);
    return true;
  }

  // Of a message that is counted in elements as well.
  std::int64_t bytes() const {
    double bytes = field(arguments_, "bytes").number;
    if (bytes <= 0) bytes = field(arguments_, "In msg nelems").number * bytes_of_type(field(arguments_, "dtype").text);
    return bytes > 0 && bytes < 1e15 ? static_cast<std::int64_t>(bytes) : 0;
  }
  bool is_collective(const TraceEvent& event) const {
    if (event.kind != EventKind::Kernel || event.lane >= 0) return false;
    const std::string& name = out_.word(event.name);
    return name.starts_with("nccl") || name.starts_with("rccl") || name.find("ncclKernel") != std::string::npos ||
           name.find("ncclDevKernel") != std::string::npos || !field(arguments_, "Collective name").text.empty();
  }

  TraceEvents& out_;
  TraceSource& source_;
  const std::function<bool(double)>& progress_;
  std::vector<In> places_;
  std::string key_, failure_;
  Fields fields_, arguments_;
  std::unordered_map<std::string, std::int32_t> index_;
  bool stopped_ = false;
};

// "... at line 3, column 17: ..." of the parser's words.
int number_after(const std::string& words, std::string_view before) {
  const std::size_t at = words.find(before);
  int number = 0;
  if (at != std::string::npos) std::from_chars(words.data() + at + before.size(), words.data() + words.size(), number);
  return number;
}

Error broken(const std::string& file, ErrorKind kind, std::string message) {
  Error error;
  error.kind = kind;
  error.file = file;
  error.message = std::move(message);
  return error;
}

}  // namespace

Expected<TraceEvents> read_events(TraceSource& source, const std::string& file,
                                  const std::function<bool(double)>& progress) {
  TraceEvents out;
  Listener listener(out, source, progress);
  std::istream stream(&source);
  const bool whole = json::sax_parse(stream, &listener);
  if (listener.stopped()) return tl::unexpected(Errors{broken(file, ErrorKind::RunFailed, "reading was stopped")});
  if (whole && source.trouble().empty()) return out;
  const int line = number_after(listener.failure(), "line "), column = number_after(listener.failure(), "column ");
  if (out.read == 0) {
    Error error = source.trouble().empty()
                      ? broken(file, ErrorKind::Syntax, "this is not well-formed JSON, nor a compressed trace")
                      : broken(file, ErrorKind::Io, fmt::format("the file cannot be unpacked: {}", source.trouble()));
    error.line = line;
    error.column = column;
    return tl::unexpected(Errors{error});
  }
  const bool ends = source.sgetc() == TraceSource::traits_type::eof();
  out.cut = fmt::format("the trace {} in line {}, column {}{}: {} events were read", ends ? "breaks off" : "is broken",
                        line, column, source.trouble().empty() ? "" : " (" + source.trouble() + ")", out.read);
  return out;
}

}  // namespace lockstep
