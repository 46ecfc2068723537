#include "simulator/result/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <unordered_map>

#include "simulator/base/document.h"
#include "simulator/result/json_archive.h"

namespace lockstep {
namespace {

// Process numbers: a GPU is its device index, as Kineto writes it; host processes stand clear of those.
constexpr int kFirstHostPid = 1000;
constexpr int kHostThread = 1;
// Streams: 7 is the default stream of Kineto's traces; lanes that overlap themselves get the numbers above.
constexpr int kComputeStream = 7, kCopyStream = 20, kCommunicationStream = 40, kStepLane = 60;
// The launch call is the tail of an op's host work: 1 to 3 us (docs/cost-models.md, host).
constexpr std::int64_t kLaunchCall_ns = 3000;

std::int64_t nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// The first of several tids on which a span that starts at `start` overlaps nothing before it.
class Lanes {
 public:
  explicit Lanes(int first) : first_(first) {}
  int place(std::int64_t start, std::int64_t end) {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i] > start) continue;
      ends_[i] = end;
      return first_ + static_cast<int>(i);
    }
    ends_.push_back(end);
    return first_ + static_cast<int>(ends_.size()) - 1;
  }
  int count() const { return static_cast<int>(ends_.size()); }

 private:
  int first_;
  std::vector<std::int64_t> ends_;
};

class RunTrace {
 public:
  RunTrace(const Run& run, int index, std::int64_t origin_ns, const std::string& host_memory, std::int64_t& correlation,
           Json& events)
      : run_(run),
        device_(index),
        host_pid_(kFirstHostPid + index),
        origin_ns_(origin_ns),
        host_memory_(host_memory),
        correlation_(correlation),
        events_(events) {}

  void write() {
    step_annotations();
    for (const std::size_t i : in_time_order()) write_span(i);
    names();
  }

 private:
  std::vector<std::size_t> in_time_order() const {
    std::vector<std::size_t> order(run_.timeline.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return run_.timeline[a].start_s < run_.timeline[b].start_s;
    });
    return order;
  }

  Json& event(const char* phase, const std::string& name, int pid, int tid) {
    events_.push_back({{"ph", phase}, {"name", name}, {"pid", pid}, {"tid", tid}});
    return events_.back();
  }
  static double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000; }
  Json& complete(const char* category, const std::string& name, int pid, int tid, std::int64_t start,
                 std::int64_t end) {
    Json& e = event("X", name, pid, tid);
    e["cat"] = category;
    e["ts"] = microseconds(start - origin_ns_);
    e["dur"] = microseconds(end - start);
    return e;
  }

  // On the host: from its first to its last work for this step, which runs ahead of the GPU. On the GPU: the step.
  void step_annotations() {
    std::int64_t from = 0, until = nanoseconds(run_.step_time_s);
    bool any = false;
    for (const Span& span : run_.timeline) {
      if (span.lane != Lane::Cpu) continue;
      from = any ? std::min(from, nanoseconds(span.start_s)) : nanoseconds(span.start_s);
      until = any ? std::max(until, nanoseconds(span.end_s)) : nanoseconds(span.end_s);
      any = true;
    }
    const std::string name = fmt::format("ProfilerStep#{}", device_);
    complete("user_annotation", name, host_pid_, kHostThread, from, until);
    complete("gpu_user_annotation", name, device_, kStepLane, 0, nanoseconds(run_.step_time_s));
  }

  void write_span(std::size_t index) {
    const Span& span = run_.timeline[index];
    const std::int64_t start = nanoseconds(span.start_s), end = nanoseconds(span.end_s);
    if (span.lane == Lane::Cpu) {
      write_host(span, start, end, launched_by(index));
      return;
    }
    Lanes& lanes = span.lane == Lane::Compute ? compute_ : span.lane == Lane::Copy ? copies_ : communication_;
    const int stream = lanes.place(start, end);
    const bool copy = span.lane == Lane::Copy && span.bytes > 0;
    Json& e = complete(copy ? "gpu_memcpy" : "kernel", kernel_name(span), device_, stream, start, end);
    Json& args = e["args"];
    args = {{"device", device_}, {"context", 1}, {"stream", stream}, {"cause", name_of(span.cause)}};
    args["lane"] = name_of(span.lane);
    if (span.lane != Lane::Compute) args["what"] = span.name;
    if (span.bytes > 0) args["bytes"] = span.bytes;
    if (copy && end > start) args["memory bandwidth (GB/s)"] = static_cast<double>(span.bytes) / double(end - start);
    if (span.lane == Lane::Communication) collective_args(span, args);
    const auto launch = launch_of(index);
    if (!launch) return;
    args["correlation"] = *launch;
    Json& flow = event("f", "ac2g", device_, stream);
    flow["cat"] = "ac2g";
    flow["id"] = *launch;
    flow["ts"] = microseconds(start - origin_ns_);
    flow["bp"] = "e";
  }

  void write_host(const Span& span, std::int64_t start, std::int64_t end, std::optional<std::int64_t> correlation) {
    const int thread = host_.place(start, end);
    complete("cpu_op", span.name, host_pid_, thread, start, end)["args"] = {{"External id", ++external_id_},
                                                                            {"cause", name_of(span.cause)}};
    if (!correlation) return;
    const std::int64_t call = std::max(start, end - kLaunchCall_ns);
    complete("cuda_runtime", "cudaLaunchKernel", host_pid_, thread, call, end)["args"] = {
        {"correlation", *correlation}, {"External id", external_id_}};
    Json& flow = event("s", "ac2g", host_pid_, thread);
    flow["cat"] = "ac2g";
    flow["id"] = *correlation;
    flow["ts"] = microseconds(call - origin_ns_);
  }

  // A launch stands directly before its kernel in the timeline.
  std::optional<std::int64_t> launched_by(std::size_t host_index) {
    const std::size_t next = host_index + 1;
    if (next >= run_.timeline.size() || run_.timeline[next].lane == Lane::Cpu) return std::nullopt;
    launches_[next] = ++correlation_;
    return correlation_;
  }
  std::optional<std::int64_t> launch_of(std::size_t index) const {
    const auto found = launches_.find(index);
    return found == launches_.end() ? std::nullopt : std::optional(found->second);
  }

  std::string kernel_name(const Span& span) const {
    if (span.lane == Lane::Copy && span.bytes > 0)
      return span.cause == Cause::CopyToDevice ? fmt::format("Memcpy HtoD ({} -> Device)", host_memory_)
                                               : "Memcpy PtoP (Device -> Device)";
    if (span.lane != Lane::Communication) return span.name;
    if (contains(span.name, "broadcast"))
      return "ncclDevKernel_Broadcast_RING_SIMPLE(ncclDevKernelArgsStorage<4096ul>)";
    const BucketTimes* bucket = bucket_of(span);
    const std::string algorithm = bucket ? upper(bucket->algorithm) : "RING";
    const std::string protocol = bucket ? upper(bucket->protocol) : "SIMPLE";
    const char* operation = span.cause == Cause::GradientReduce ? "Reduce" : "AllReduce";
    return fmt::format("ncclDevKernel_{}_Sum_f32_{}_{}(ncclDevKernelArgsStorage<4096ul>)", operation, algorithm,
                       protocol);
  }

  const BucketTimes* bucket_of(const Span& span) const {
    for (const BucketTimes& bucket : run_.buckets)
      if (bucket.bytes == span.bytes && std::abs(bucket.end_s - span.end_s) < 1e-9 && !bucket.algorithm.empty())
        return &bucket;
    return nullptr;
  }

  void collective_args(const Span& span, Json& args) const {
    const std::string name = contains(span.name, "broadcast")      ? "broadcast"
                             : span.cause == Cause::GradientReduce ? "reduce"
                                                                   : "allreduce";
    args["Collective name"] = name;
    args["In msg nelems"] = span.bytes / 4;
    args["Out msg nelems"] = span.bytes / 4;
    args["Group size"] = run_.world_size;
    args["dtype"] = "Float";
    args["Process Group Name"] = "0";
  }

  void name_process(int pid, const std::string& name, const char* label, int sort) {
    event("M", "process_name", pid, 0)["args"] = {{"name", name}};
    event("M", "process_labels", pid, 0)["args"] = {{"labels", label}};
    event("M", "process_sort_index", pid, 0)["args"] = {{"sort_index", sort}};
  }
  void name_threads(int pid, int first, int count, const std::string& name) {
    for (int i = 0; i < count; ++i) {
      event("M", "thread_name", pid, first + i)["args"] = {{"name", i == 0 ? name : fmt::format("{} {}", name, i + 1)}};
      event("M", "thread_sort_index", pid, first + i)["args"] = {{"sort_index", first + i}};
    }
  }
  void names() {
    const std::string what =
        fmt::format("{} on {} GPU{}", name_of(run_.strategy), run_.gpus, run_.gpus == 1 ? "" : "s");
    name_process(host_pid_, what + ": host of the critical rank", "CPU", 2 * device_);
    name_process(device_, what + ": GPU of the critical rank", "GPU", 2 * device_ + 1);
    name_threads(host_pid_, kHostThread, std::max(1, host_.count()), "launch thread");
    name_threads(device_, kComputeStream, compute_.count(), fmt::format("stream {} compute", kComputeStream));
    name_threads(device_, kCopyStream, copies_.count(), fmt::format("stream {} copies", kCopyStream));
    name_threads(device_, kCommunicationStream, communication_.count(),
                 fmt::format("stream {} communication", kCommunicationStream));
    name_threads(device_, kStepLane, 1, "steps");
  }

  const Run& run_;
  int device_;
  int host_pid_;
  std::int64_t origin_ns_;
  const std::string& host_memory_;
  std::int64_t& correlation_;
  Json& events_;
  std::int64_t external_id_ = 0;
  std::unordered_map<std::size_t, std::int64_t> launches_;  // index of the span that was launched -> correlation
  Lanes host_{kHostThread}, compute_{kComputeStream}, copies_{kCopyStream}, communication_{kCommunicationStream};
};

// Kineto's word for the memory that batches are copied from.
std::string host_memory_of(const Result& result) {
  const auto document = parse_document(result.scenario_yaml, "scenario");
  const Value* input = document ? document->root.find("input") : nullptr;
  const Value* memory = input != nullptr ? input->find("memory") : nullptr;
  return memory != nullptr && memory->text == "pinned" ? "Pinned" : "Pageable";
}

Json distributed_info(const Run& run, const Result& result) {
  std::vector<int> ranks(static_cast<std::size_t>(run.world_size));
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
  Json info = {{"backend", "nccl"}, {"rank", 0}, {"world_size", run.world_size}, {"pg_count", 1}};
  info["pg_config"] =
      Json::array({{{"pg_name", "0"}, {"pg_desc", "default_pg"}, {"pg_size", run.world_size}, {"ranks", ranks}}});
  const auto nccl = result.software.find("nccl");
  if (nccl != result.software.end()) info["nccl_version"] = nccl->second;
  return info;
}

}  // namespace

std::string chrome_trace(const std::vector<const Run*>& runs, const Result& result) {
  std::vector<const Run*> shown;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(shown), [](const Run* r) { return !r->timeline.empty(); });
  // No negative times: the host starts a step before the GPU does.
  std::int64_t origin_ns = 0;
  for (const Run* run : shown)
    for (const Span& span : run->timeline) origin_ns = std::min(origin_ns, nanoseconds(span.start_s));
  Json trace = Json::object();
  trace["schemaVersion"] = 1;
  trace["traceName"] = "lockstep prediction";
  trace["lockstep_version"] = lockstep_version();
  trace["displayTimeUnit"] = "ms";
  if (!shown.empty()) {
    const auto widest = std::max_element(shown.begin(), shown.end(),
                                         [](const Run* a, const Run* b) { return a->world_size < b->world_size; });
    trace["distributedInfo"] = distributed_info(**widest, result);
  }
  trace["deviceProperties"] = Json::array();
  Json events = Json::array();
  const std::string host_memory = host_memory_of(result);
  std::int64_t correlation = 0;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    trace["deviceProperties"].push_back({{"id", static_cast<int>(i)}, {"name", shown[i]->implementation}});
    RunTrace(*shown[i], static_cast<int>(i), origin_ns, host_memory, correlation, events).write();
  }
  trace["traceEvents"] = std::move(events);
  return dump_json(trace, false) + '\n';
}

}  // namespace lockstep
