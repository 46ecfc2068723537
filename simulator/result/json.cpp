#include "simulator/result/json.h"

#include "simulator/result/json_archive.h"

namespace lockstep {
namespace {

// T is const when a description writes.
template <class T, class Want>
concept Is = std::is_same_v<std::remove_const_t<T>, Want>;

}  // namespace

// Keys and their order: docs/interface.md.
template <class A, Is<Spread> T>
void describe(A& a, T& s) {
  a.field("p5", s.p5);
  a.field("p50", s.p50);
  a.field("p95", s.p95);
  a.field("n", s.n);
  a.field("over", s.over);
}

template <class A, Is<Uncertainty> T>
void describe(A& a, T& u) {
  a.field("low", u.low);
  a.field("high", u.high);
  a.field("level", u.level);
  a.field("from", u.from);
}

template <class A, Is<Samples> T>
void describe(A& a, T& s) {
  a.field("repeat", s.repeat);
  a.field("step_times_s", s.step_times_s);
}

template <class A, Is<Baseline> T>
void describe(A& a, T& b) {
  a.field("strategy", b.strategy);
  a.field("per_gpu_batch", b.per_gpu_batch);
  a.field("micro_steps", b.micro_steps);
  a.field("step_time_s", b.step_time_s);
  a.field("feasible", b.feasible);
}

template <class A, Is<BucketTimes> T>
void describe(A& a, T& b) {
  a.field("index", b.index);
  a.field("bytes", b.bytes);
  a.field("ready_s", b.ready_s);
  a.field("launch_s", b.launch_s);
  a.field("start_s", b.start_s);
  a.field("end_s", b.end_s);
  a.field("wait_s", b.wait_s);
  a.field("transfer_s", b.transfer_s);
  a.known("algorithm", b.algorithm);
  a.known("protocol", b.protocol);
  a.known("channels", b.channels);
}

template <class A, Is<RankStats> T>
void describe(A& a, T& r) {
  a.field("ranks", r.ranks);
  a.known("host", r.host);  // results of before machines of unlike nodes do not have it
  a.field("step_time_s", r.step_time_s);
  a.known("gpu_utilization", r.gpu_utilization);
  a.known("gpu_compute_utilization", r.gpu_compute_utilization);
  a.known("launch_thread_utilization", r.launch_thread_utilization);
  a.known("memory_allocated_bytes", r.memory_allocated_bytes);
  a.known("memory_reserved_bytes", r.memory_reserved_bytes);
  a.known("cpu_time_s", r.cpu_time_s);
}

template <class A, Is<OpClassTimes> T>
void describe(A& a, T& t) {
  a.field("class", t.op_class);
  a.known("forward_s", t.forward_s);
  a.known("backward_s", t.backward_s);
  a.known("step_s", t.step_s);
}

template <class A, Is<LinkUse> T>
void describe(A& a, T& l) {
  a.field("id", l.id);
  a.field("class", l.link_class);
  a.field("bytes", l.bytes);
  a.field("busy_s", l.busy_s);
  a.field("utilization", l.utilization);
  a.field("peak_rate", l.peak_rate);
}

template <class A, Is<Sentence> T>
void describe(A& a, T& s) {
  a.field("id", s.id);
  a.field("values", s.values);
  a.field("text", s.text);
}

template <class A, Is<Lever> T>
void describe(A& a, T& l) {
  a.field("set", l.set);
  a.field("step_time_s", l.step_time_s);
  a.field("gain", l.gain);
}

template <class A, Is<Answer> T>
void describe(A& a, T& answer) {
  a.field("sentences", answer.sentences);
  a.known("largest_loss", answer.largest_loss);
  a.field("levers", answer.levers);
}

template <class A, Is<Span> T>
void describe(A& a, T& s) {
  a.field("lane", s.lane);
  a.field("cause", s.cause);
  a.field("name", s.name);
  a.field("start_s", s.start_s);
  a.field("end_s", s.end_s);
  a.known("bytes", s.bytes);
}

template <class A, Is<RankTimeline> T>
void describe(A& a, T& t) {
  a.field("ranks", t.ranks);
  a.field("spans", t.spans);
}

template <class A, Is<StepPart> T>
void describe(A& a, T& p) {
  a.field("cause", p.cause);
  a.field("detail", p.detail);
  a.field("seconds", p.seconds);
}

// breakdown_s: the causes that took time.
struct BreakdownView {
  std::array<double, kCauseCount>* parts;
};
struct ConstBreakdownView {
  const std::array<double, kCauseCount>* parts;
  bool empty() const {
    for (const double part : *parts)
      if (!is_default(part)) return false;
    return true;
  }
};
template <class A>
void describe(A& a, const ConstBreakdownView& view) {
  for (const Cause cause : kCauses) a.known(name_of(cause), (*view.parts)[static_cast<std::size_t>(cause)]);
}
template <class A>
void describe(A& a, BreakdownView& view) {
  for (const Cause cause : kCauses) a.known(name_of(cause), (*view.parts)[static_cast<std::size_t>(cause)]);
}

template <class A, Is<Run> T>
void describe(A& a, T& run) {
  a.field("strategy", run.strategy);
  a.known("implementation", run.implementation);
  a.field("world_size", run.world_size);
  a.known("nodes", run.nodes);
  a.known("gpus", run.gpus);
  a.known("processes", run.processes);
  a.field("point", run.point);
  a.known("not_run", run.not_run);
  a.known("per_gpu_batch", run.per_gpu_batch);
  a.known("global_batch", run.global_batch);
  if (!run.not_run) a.known("micro_steps", run.micro_steps);
  a.known("step_time_s", run.step_time_s);
  a.known("spread_s", run.spread);
  a.known("uncertainty_s", run.uncertainty);
  a.known("samples", run.samples);
  a.known("warm_up_step_times_s", run.warm_up_step_times_s);
  a.known("throughput", run.throughput);
  a.known("throughput_unit", run.throughput_unit);
  a.known("speedup", run.speedup);
  a.known("efficiency", run.efficiency);
  a.known("scaling", run.scaling);
  a.known("baseline", run.baseline);
  if constexpr (std::is_const_v<T>) {
    a.known("breakdown_s", ConstBreakdownView{&run.breakdown_s});
  } else {
    BreakdownView view{&run.breakdown_s};
    a.known("breakdown_s", view);
  }
  if (!run.not_run) a.known("hidden_communication_s", run.hidden_communication_s);
  a.known("buckets", run.buckets);
  a.known("ranks", run.ranks);
  a.known("fits_memory", run.fits_memory);
  a.known("links", run.links);
  a.known("profile", run.profile);
  a.known("ddp_logging_data", run.ddp_logging_data);
  a.known("cpu_utilization", run.cpu_utilization);
  a.known("epoch_time_s", run.epoch_time_s);
  a.known("total_time_s", run.total_time_s);
  a.known("cost_per_epoch", run.cost_per_epoch);
  a.known("cost_total", run.cost_total);
  a.known("notes", run.notes);
}

namespace {

template <class T>
Json to_object(const T& value) {
  Json object = Json::object();
  JsonWriter writer(object);
  describe(writer, value);
  return object;
}

template <class T>
T from_object(const Json& json, const std::string& path, const std::string& file, Errors& errors) {
  T value;
  JsonReader reader(json, path, file, errors);
  describe(reader, value);
  return value;
}

// What the contract leaves out.
struct PrivatePart {
  double communication_s = 0;
  std::vector<Span> timeline;
  std::string timeline_ranks;
  std::vector<RankTimeline> other_timelines;
  std::vector<StepPart> parts;
};

template <class A, class T>
requires std::is_same_v<std::remove_const_t<T>, PrivatePart>
void describe(A& a, T& part) {
  a.known("communication_s", part.communication_s);
  a.known("timeline", part.timeline);
  a.known("timeline_ranks", part.timeline_ranks);
  a.known("other_timelines", part.other_timelines);
  a.known("parts", part.parts);
}

// The header of a document; later formats are refused.
void check_format(const Json& json, JsonReader& reader) {
  std::string format;
  int version = 0;
  reader.field("format", format);
  reader.field("format_version", version);
  if (!format.empty() && format != "lockstep-result")
    reader.fail(ErrorKind::NotSupported, "format", format, "this is no lockstep result");
  if (version > kResultFormatVersion)
    reader.fail(ErrorKind::NotSupported, "format_version", json["format_version"].dump(),
                "this result was written by a newer lockstep");
}

}  // namespace

std::string result_to_json(const Result& result, JsonLayout layout) {
  Json json = Json::object();
  JsonWriter a(json);
  a.field("format", std::string("lockstep-result"));
  a.field("format_version", kResultFormatVersion);
  a.field("lockstep_version", std::string(lockstep_version()));
  a.field("kind", result.kind);
  if (!result.scenario_yaml.empty()) json["scenario"] = yaml_to_json_value(result.scenario_yaml);
  a.known("machine", result.machine);
  a.known("partial", result.partial);
  a.known("calibration", result.calibration);
  a.known("software", result.software);
  a.known("fidelity", result.fidelity);
  a.field("runs", result.runs);
  a.field("answer", result.answer);
  return dump_json(json, layout == JsonLayout::Indented) + '\n';
}

Expected<Result> result_from_json(std::string_view text, const std::string& file) {
  auto json = parse_json(text, file);
  if (!json) return tl::unexpected(json.error());
  Errors errors;
  JsonReader a(*json, "", file, errors);
  if (!json->is_object()) {
    a.fail(ErrorKind::Type, "", json->dump().substr(0, 60), "a result is one JSON object");
    return tl::unexpected(errors);
  }
  check_format(*json, a);
  if (!errors.empty()) return tl::unexpected(errors);
  Result result;
  a.field("kind", result.kind);
  if (json->contains("scenario")) result.scenario_yaml = json_value_to_yaml((*json)["scenario"]);
  a.known("machine", result.machine);
  a.known("partial", result.partial);
  a.known("calibration", result.calibration);
  a.known("software", result.software);
  a.known("fidelity", result.fidelity);
  a.field("runs", result.runs);
  a.known("answer", result.answer);
  if (errors.empty()) check_result(result, file, errors);
  if (!errors.empty()) return tl::unexpected(errors);
  return result;
}

std::string run_to_json(const Run& run) {
  return dump_json(to_object(run), false);
}

Expected<Run> run_from_json(std::string_view text) {
  const std::string file;
  auto json = parse_json(text, file);
  if (!json) return tl::unexpected(json.error());
  Errors errors;
  Run run = from_object<Run>(*json, "", file, errors);
  if (!errors.empty()) return tl::unexpected(errors);
  return run;
}

std::string run_to_message(const Run& run) {
  Json json = to_object(run);
  json["private"] =
      to_object(PrivatePart{run.communication_s, run.timeline, run.timeline_ranks, run.other_timelines, run.parts});
  return dump_json(json, false);
}

Expected<Run> run_from_message(std::string_view text) {
  const std::string file;
  auto json = parse_json(text, file);
  if (!json) return tl::unexpected(json.error());
  Errors errors;
  JsonReader reader(*json, "", file, errors);
  if (!json->is_object() || !json->contains("private")) {
    reader.fail(ErrorKind::Type, "private", "", "this is no message of a simulated point");
    return tl::unexpected(errors);
  }
  Run run = from_object<Run>(*json, "", file, errors);
  auto part = from_object<PrivatePart>((*json)["private"], "private.", file, errors);
  if (!errors.empty()) return tl::unexpected(errors);
  run.communication_s = part.communication_s;
  run.timeline = std::move(part.timeline);
  run.timeline_ranks = std::move(part.timeline_ranks);
  run.other_timelines = std::move(part.other_timelines);
  run.parts = std::move(part.parts);
  return run;
}

}  // namespace lockstep
