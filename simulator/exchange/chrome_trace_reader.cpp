#include "simulator/exchange/chrome_trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <istream>
#include <map>
#include <set>

#include "simulator/exchange/trace_events.h"

namespace lockstep {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

double end_us(const TraceEvent& event) {
  return event.start_us + event.duration_us;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> step_of(const std::string& name) {
  constexpr std::string_view kStep = "ProfilerStep#";
  return name.starts_with(kStep) ? number_in(std::string_view(name).substr(kStep.size())) : std::nullopt;
}

// The rank in "trace_rank3.json", "rank-3.pt.trace.json".
std::optional<int> rank_in_name(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::size_t at = name.rfind("rank");
  if (at == std::string::npos) return std::nullopt;
  at += 4;
  if (at < name.size() && (name[at] == '_' || name[at] == '-')) ++at;
  const auto number = number_in(std::string_view(name).substr(at));
  return number && *number >= 0 && *number < 1'000'000 ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

// What an annotation of PyTorch's or of the user's loop says about everything inside it.
std::optional<Cause> cause_of_note(const std::string& name) {
  if (has(name, "ptimizer") || has(name, "zero_grad")) return Cause::Optimizer;
  if (has(name, "backward")) return Cause::Backward;
  if (has(name, "forward")) return Cause::Forward;
  if (has(name, "DataLoader")) return Cause::Input;
  return std::nullopt;
}

std::optional<Cause> cause_of_op(const std::string& name) {
  if (has(name, "reducer::copy_bucket") || has(name, "reducer::mul_out")) return Cause::BucketCopies;
  if (has(name, "Backward") || has(name, "autograd::engine") || has(name, "AccumulateGrad")) return Cause::Backward;
  return cause_of_note(name);
}

Cause cause_of_kernel(const std::string& name) {
  if (has(name, "multi_tensor_apply") || has(name, "adam") || has(name, "sgd")) return Cause::Optimizer;
  if (has(name, "dgrad") || has(name, "wgrad") || has(name, "bgrad") || has(name, "backward") || has(name, "_bw_"))
    return Cause::Backward;
  return Cause::Other;
}

Cause cause_of_collective(const std::string& name) {
  if (has(name, "roadcast")) return Cause::BufferBroadcast;
  return has(name, "Reduce_") && !has(name, "AllReduce") ? Cause::GradientReduce : Cause::ExposedCommunication;
}

bool is_collective_on_cpu(const std::string& name) {
  return name.starts_with("gloo:") || name.starts_with("mpi:") || name.starts_with("ucc:");
}

struct Launch {
  Cause cause = Cause::Other;
  std::int32_t process = -1;
};

class RankMaker {
 public:
  RankMaker(TraceEvents& raw, TraceFile& out) : raw_(raw), out_(out) {}

  void make() {
    sort_out();
    for (auto& [process, threads] : hosts_) read_host(process, threads);
    std::vector<std::int32_t> devices;
    for (const auto& [process, events] : devices_) devices.push_back(process);
    std::sort(devices.begin(), devices.end(), [this](auto a, auto b) { return device_of(a) < device_of(b); });
    for (const std::int32_t process : devices) add_device(process);
    if (devices.empty())
      for (auto& [process, spans] : host_spans_) add_host(process, std::move(spans));
  }

 private:
  using Threads = std::map<std::int32_t, std::vector<const TraceEvent*>>;
  using Steps = std::map<std::int64_t, std::pair<double, double>>;  // number -> from, to in us

  // From the first event: the clock itself has too many digits for seconds.
  double seconds(double us) const { return (us - zero_us_) * 1e-6; }

  const std::string& name_of_event(const TraceEvent& event) const { return raw_.word(event.name); }

  void sort_out() {
    for (const TraceEvent& event : raw_.events) zero_us_ = std::min(zero_us_, event.start_us);
    for (const TraceEvent& event : raw_.events) {
      const bool on_device = event.kind == EventKind::Kernel || event.kind == EventKind::Memcpy ||
                             event.kind == EventKind::Memset || event.kind == EventKind::GpuNote;
      if (const auto step = step_of(name_of_event(event))) {
        auto& marks = (on_device ? device_steps_ : host_steps_)[event.process];
        const auto [at, is_new] = marks.try_emplace(*step, event.start_us, end_us(event));
        at->second = {std::min(at->second.first, event.start_us), std::max(at->second.second, end_us(event))};
      } else if (on_device) {
        if (event.kind != EventKind::GpuNote) devices_[event.process].push_back(&event);
      } else {
        hosts_[event.process][event.thread].push_back(&event);
      }
    }
  }

  // The outermost events of each thread are spans; what they launch gets their pass.
  void read_host(std::int32_t process, Threads& threads) {
    bool any_op = false;
    for (const auto& [thread, events] : threads)
      for (const TraceEvent* event : events) any_op |= event->kind != EventKind::Note;
    for (auto& [thread, events] : threads) {
      std::stable_sort(events.begin(), events.end(), [](const TraceEvent* a, const TraceEvent* b) {
        return std::pair(a->start_us, -a->duration_us) < std::pair(b->start_us, -b->duration_us);
      });
      read_thread(process, events, any_op);
    }
  }

  void read_thread(std::int32_t process, const std::vector<const TraceEvent*>& events, bool any_op) {
    std::vector<std::pair<double, Cause>> notes;  // that are open: until when, what
    double outermost_until = -1e300;
    Cause pass = Cause::Other;
    for (const TraceEvent* event : events) {
      const std::string& name = name_of_event(*event);
      while (!notes.empty() && notes.back().first <= event->start_us) notes.pop_back();
      const bool nested = event->start_us < outermost_until;
      if (event->kind == EventKind::Note) {
        if (const auto cause = cause_of_note(name)) notes.emplace_back(end_us(*event), *cause);
        if (devices_.empty() && is_collective_on_cpu(name))
          add_span(process, *event, Lane::Communication, cause_of_collective(name));
        else if ((!any_op || has(name, "DataLoader")) && !nested && cause_of_note(name)) {
          add_span(process, *event, Lane::Cpu, *cause_of_note(name));
          outermost_until = end_us(*event);
        }
        continue;
      }
      if (!nested) {
        const auto said = cause_of_op(name);
        pass = said ? *said : notes.empty() ? Cause::Forward : notes.back().second;
        add_span(process, *event, Lane::Cpu, pass);
        outermost_until = end_us(*event);
      }
      if (event->kind == EventKind::Runtime && event->correlation != 0)
        launches_.try_emplace(event->correlation, Launch{pass, process});
    }
  }

  // `pass`: of the work itself. With a GPU a CPU launches, whatever it launches.
  void add_span(std::int32_t process, const TraceEvent& event, Lane lane, Cause pass) {
    Span span;
    span.lane = lane == Lane::Cpu && devices_.empty() ? Lane::Compute : lane;
    span.cause = event.cause >= 0 ? static_cast<Cause>(event.cause)
                 : span.lane == Lane::Cpu && pass != Cause::Input && pass != Cause::Other ? Cause::HostBound
                                                                                          : pass;
    fill(span, event);
    host_spans_[process].push_back(std::move(span));
  }

  void fill(Span& span, const TraceEvent& event) const {
    span.name = name_of_event(event);
    span.start_s = seconds(event.start_us);
    span.end_s = seconds(end_us(event));
    span.bytes = event.bytes;
  }

  Span device_span(const TraceEvent& event, std::map<std::int32_t, int>& launched_by) const {
    Span span;
    const std::string& name = name_of_event(event);
    span.lane = event.lane >= 0                   ? static_cast<Lane>(event.lane)
                : event.kind == EventKind::Memcpy ? Lane::Copy
                                                  : Lane::Compute;
    const auto launch = event.correlation != 0 ? launches_.find(event.correlation) : launches_.end();
    if (launch != launches_.end()) ++launched_by[launch->second.process];
    if (event.cause >= 0)
      span.cause = static_cast<Cause>(event.cause);
    else if (span.lane == Lane::Communication)
      span.cause = cause_of_collective(name);
    else if (span.lane == Lane::Copy && has(name, "HtoD"))
      span.cause = Cause::CopyToDevice;
    else if (launch != launches_.end())
      span.cause = launch->second.cause;
    else
      span.cause = cause_of_kernel(name);
    fill(span, event);
    return span;
  }

  int device_of(std::int32_t process) const {
    const auto number = number_in(raw_.word(process));
    return number && *number >= 0 && *number < 1'000'000 ? static_cast<int>(*number) : 0;
  }

  void add_device(std::int32_t process) {
    TracedRank rank;
    rank.device = device_of(process);
    std::map<std::int32_t, int> launched_by;
    for (const TraceEvent* event : devices_[process]) rank.spans.push_back(device_span(*event, launched_by));
    // Its host: who launched most of it, or the only one there is.
    std::int32_t host = host_spans_.size() == 1 ? host_spans_.begin()->first : -1;
    int most = 0;
    for (const auto& [candidate, count] : launched_by)
      if (count > most) host = candidate, most = count;
    const auto spans = host_spans_.find(host);
    if (spans != host_spans_.end() && given_.insert(host).second)
      rank.spans.insert(rank.spans.end(), spans->second.begin(), spans->second.end());
    finish(std::move(rank), process, host);
  }

  void add_host(std::int32_t process, std::vector<Span> spans) {
    TracedRank rank;
    rank.spans = std::move(spans);
    finish(std::move(rank), process, process);
  }

  void finish(TracedRank rank, std::int32_t process, std::int32_t host) {
    if (rank.spans.empty()) return;
    const auto name = raw_.process_names.find(process);
    if (name != raw_.process_names.end()) rank.process = name->second;
    std::stable_sort(rank.spans.begin(), rank.spans.end(),
                     [](const Span& a, const Span& b) { return a.start_s < b.start_s; });
    const Steps &on_device = device_steps_[process], &on_host = host_steps_[host];
    Steps all = on_device;
    all.insert(on_host.begin(), on_host.end());
    for (const auto& [number, times] : all) {
      const auto launched = on_host.find(number);
      const auto& from = launched == on_host.end() ? times : launched->second;
      rank.steps.push_back(
          {number, seconds(times.first), seconds(times.second), seconds(from.first), seconds(from.second)});
    }
    out_.ranks.push_back(std::move(rank));
  }

  TraceEvents& raw_;
  TraceFile& out_;
  double zero_us_ = 1e300;
  std::map<std::int32_t, std::vector<const TraceEvent*>> devices_;
  std::map<std::int32_t, Threads> hosts_;
  std::map<std::int32_t, Steps> device_steps_, host_steps_;
  std::map<std::int32_t, std::vector<Span>> host_spans_;
  std::unordered_map<std::int64_t, Launch> launches_;
  std::set<std::int32_t> given_;  // hosts whose spans stand with a device already
};

Errors one_error(ErrorKind kind, const std::string& file, std::string message, std::string hint = {}) {
  Error error;
  error.kind = kind;
  error.file = file;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return {error};
}

}  // namespace

Expected<TraceFile> read_chrome_trace(const std::string& path, const std::function<bool(double)>& progress) {
  TraceSource source(path);
  if (!source.open()) return tl::unexpected(one_error(ErrorKind::Io, path, "the file is not there, or cannot be read"));
  auto raw = read_events(source, path, progress);
  if (!raw) return tl::unexpected(raw.error());
  if (raw->result) return tl::unexpected(one_error(ErrorKind::Type, path, "this is a result of lockstep and no trace"));
  if (!raw->has_list)
    return tl::unexpected(one_error(ErrorKind::Missing, path, "this JSON has no traceEvents: it is no Chrome trace"));
  TraceFile out;
  out.file = path;
  out.rank = raw->rank ? raw->rank : rank_in_name(path);
  out.world_size = std::max(0, raw->world_size);
  out.backend = raw->backend;
  out.predicted = raw->predicted;
  out.events = raw->read;
  out.cut = raw->cut;
  RankMaker(*raw, out).make();
  if (!out.ranks.empty()) return out;
  return tl::unexpected(
      one_error(ErrorKind::Missing, path,
                fmt::format("no event of the trace is a kernel, a copy or an op ({} events were read{})", out.events,
                            out.cut ? "; " + *out.cut : std::string()),
                "record with ProfilerActivity.CPU or CUDA, and export_chrome_trace"));
}

bool looks_like_trace(const std::string& path) {
  TraceSource source(path);
  std::string head(4096, '\0');
  std::istream stream(&source);
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(stream.gcount()));
  if (has(head, "lockstep-result")) return false;
  return has(head, "traceEvents") || has(head, "schemaVersion") || has(head, "\"ph\"");
}

}  // namespace lockstep
