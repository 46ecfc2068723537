#include "hwrunner/launch/record.h"

#include <unistd.h>

#include <cerrno>

#include "hwrunner/launch/json_fields.h"

namespace lockstep {
namespace {

struct ToJson {
  RunnerJson operator()(const HelloRecord& r) const {
    return {{"type", "hello"},        {"protocol", r.protocol}, {"pid", r.pid},
            {"host", r.host},         {"threads", r.threads},   {"implementation", r.implementation},
            {"software", r.software}, {"cores", r.cores},       {"network_interface", r.network_interface}};
  }
  RunnerJson operator()(const JoiningRecord&) const { return {{"type", "joining"}}; }
  RunnerJson operator()(const ReadyRecord&) const { return {{"type", "ready"}}; }
  RunnerJson operator()(const StartRecord& r) const { return {{"type", "start"}, {"at_s", r.at_s}}; }
  RunnerJson operator()(const BucketRecord& r) const {
    return {{"type", "bucket"},     {"step", r.step},         {"index", r.index}, {"bytes", r.bytes},
            {"ready_s", r.ready_s}, {"launch_s", r.launch_s}, {"end_s", r.end_s}};
  }
  RunnerJson operator()(const RankStepRecord& r) const {
    RunnerJson json = {{"type", "step"}, {"step", r.step}, {"end_s", r.end_s}, {"cpu_s", r.cpu_s}};
    if (!r.parts.empty()) json["parts"] = r.parts;
    if (r.idle_from_s) json["idle_from_s"] = *r.idle_from_s;
    if (r.idle_to_s) json["idle_to_s"] = *r.idle_to_s;
    return json;
  }
  RunnerJson operator()(const BenchRecord& r) const {
    RunnerJson json = {
        {"type", "bench"},   {"what", r.what},           {"bytes", r.bytes},           {"count", r.count},
        {"element", r.type}, {"in_flight", r.in_flight}, {"iterations", r.iterations}, {"time_s", r.time_s},
        {"wrong", r.wrong}};
    if (!r.pass.empty()) json["pass"] = r.pass;
    if (!r.shape.empty()) json["shape"] = r.shape;
    if (r.flop > 0) json["flop"] = r.flop;
    if (r.moved_bytes > 0) json["moved_bytes"] = r.moved_bytes;
    if (!r.not_run.empty()) json["not_run"] = r.not_run;
    return json;
  }
  RunnerJson operator()(const FactsRecord& r) const {
    return {{"type", "facts"}, {"peak_memory_bytes", r.peak_memory_bytes}, {"logging", r.logging}};
  }
  RunnerJson operator()(const NoteRecord& r) const { return {{"type", "note"}, {"text", r.text}}; }
  RunnerJson operator()(const ErrorRecord& r) const {
    return {{"type", "error"}, {"kind", r.kind}, {"message", r.message}, {"ranks", r.ranks}};
  }
  RunnerJson operator()(const DoneRecord&) const { return {{"type", "done"}}; }
};

HelloRecord hello(JsonFields& in) {
  HelloRecord r;
  in.need("protocol", r.protocol);
  in.need("pid", r.pid);
  in.may("host", r.host);
  in.may("implementation", r.implementation);
  in.may("software", r.software);
  in.may("threads", r.threads);
  in.may("cores", r.cores);
  in.may("network_interface", r.network_interface);
  return r;
}

BucketRecord bucket(JsonFields& in) {
  BucketRecord r;
  in.need("step", r.step);
  in.need("index", r.index);
  in.need("bytes", r.bytes);
  in.need("ready_s", r.ready_s);
  in.need("launch_s", r.launch_s);
  in.need("end_s", r.end_s);
  return r;
}

RankStepRecord step(JsonFields& in) {
  RankStepRecord r;
  in.need("step", r.step);
  in.need("end_s", r.end_s);
  in.may("cpu_s", r.cpu_s);
  in.may("parts", r.parts);
  const auto optional = [&in](const char* key, std::optional<double>& value) {
    double number = std::numeric_limits<double>::quiet_NaN();
    in.may(key, number);
    if (!std::isnan(number)) value = number;
  };
  optional("idle_from_s", r.idle_from_s);
  optional("idle_to_s", r.idle_to_s);
  return r;
}

BenchRecord bench_point(JsonFields& in) {
  BenchRecord r;
  in.need("what", r.what);
  in.need("bytes", r.bytes);
  in.may("count", r.count);
  in.may("element", r.type);
  in.may("in_flight", r.in_flight);
  in.may("iterations", r.iterations);
  in.may("time_s", r.time_s);
  in.may("wrong", r.wrong);
  in.may("pass", r.pass);
  in.may("shape", r.shape);
  in.may("flop", r.flop);
  in.may("moved_bytes", r.moved_bytes);
  in.may("not_run", r.not_run);
  return r;
}

std::optional<Record> of_type(const std::string& type, JsonFields& in) {
  if (type == "hello") return hello(in);
  if (type == "joining") return JoiningRecord{};
  if (type == "ready") return ReadyRecord{};
  if (type == "bucket") return bucket(in);
  if (type == "step") return step(in);
  if (type == "bench") return bench_point(in);
  if (type == "done") return DoneRecord{};
  if (type == "start") {
    StartRecord r;
    in.need("at_s", r.at_s);
    return r;
  }
  if (type == "facts") {
    FactsRecord r;
    in.may("peak_memory_bytes", r.peak_memory_bytes);
    in.may("logging", r.logging);
    return r;
  }
  if (type == "note") {
    NoteRecord r;
    in.need("text", r.text);
    return r;
  }
  if (type == "error") {
    ErrorRecord r;
    in.need("kind", r.kind);
    in.need("message", r.message);
    in.may("ranks", r.ranks);
    return r;
  }
  in.fail(ErrorKind::NotSupported, "type", fmt::format("there is no record `{}`", type));
  return std::nullopt;
}

}  // namespace

std::string record_to_line(const Record& record) {
  return dump(std::visit(ToJson{}, record)) + '\n';
}

Expected<Record> record_from_line(std::string_view line) {
  auto json = parse_object(line, "record of the hardware runner");
  if (!json) return tl::unexpected(std::move(json.error()));
  JsonFields fields(*json);
  std::string type;
  fields.need("type", type);
  if (!fields.errors().empty()) return tl::unexpected(fields.errors());
  auto record = of_type(type, fields);
  if (!fields.errors().empty()) return tl::unexpected(fields.errors());
  return *std::move(record);
}

bool RecordWriter::write(const Record& record) {
  const std::string line = record_to_line(record);
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t n = ::write(descriptor_, line.data() + written, line.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    written += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace lockstep
