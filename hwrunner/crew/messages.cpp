#include "hwrunner/crew/messages.h"

#include "hwrunner/launch/json_fields.h"

namespace lockstep {
namespace {

struct ToLine {
  RunnerJson operator()(const HelloMessage& m) const {
    return {{"type", "hello"},      {"protocol", m.protocol},
            {"token", m.token},     {"number", m.number},
            {"members", m.members}, {"ranks", m.ranks},
            {"pid", m.pid},         {"host", m.host},
            {"host_id", m.host_id}, {"network_interface", m.network_interface},
            {"cores", m.cores},     {"plan", m.plan},
            {"problem", m.problem}};
  }
  RunnerJson operator()(const LineMessage& m) const {
    return {{"type", "line"}, {"launch", m.launch}, {"rank", m.rank}, {"line", m.line}};
  }
  RunnerJson operator()(const NewsMessage& m) const {
    return {{"type", "news"},
            {"launch", m.launch},
            {"rank", m.rank},
            {"kind", m.kind},
            {"status", m.status},
            {"cpu_s", m.cpu_s},
            {"peak_memory_bytes", m.peak_memory_bytes},
            {"words", m.words}};
  }
  RunnerJson operator()(const ClockMessage& m) const { return {{"type", "clock"}, {"at_s", m.at_s}}; }
  RunnerJson operator()(const InterruptedMessage&) const { return {{"type", "interrupted"}}; }
  RunnerJson operator()(const JoinedMessage&) const { return {{"type", "joined"}}; }
  RunnerJson operator()(const OtherMessage&) const { return {{"type", "other"}}; }
  RunnerJson operator()(const StartMessage& m) const {
    return {{"type", "start"},    {"launch", m.launch},           {"rank", m.rank},  {"plan", m.plan},
            {"python", m.python}, {"environment", m.environment}, {"cores", m.cores}};
  }
  RunnerJson operator()(const KillMessage& m) const {
    return {{"type", "kill"}, {"launch", m.launch}, {"rank", m.rank}};
  }
  RunnerJson operator()(const AskClockMessage&) const { return {{"type", "ask_clock"}}; }
  RunnerJson operator()(const EndMessage& m) const { return {{"type", "end"}, {"code", m.code}}; }
};

HelloMessage hello(JsonFields& in) {
  HelloMessage m;
  in.need("protocol", m.protocol);
  in.need("token", m.token);
  in.need("number", m.number);
  in.need("members", m.members);
  in.need("ranks", m.ranks);
  in.may("pid", m.pid);
  in.may("host", m.host);
  in.may("host_id", m.host_id);
  in.may("network_interface", m.network_interface);
  in.may("cores", m.cores);
  in.may("plan", m.plan);
  in.may("problem", m.problem);
  return m;
}

NewsMessage news(JsonFields& in) {
  NewsMessage m;
  in.need("launch", m.launch);
  in.need("rank", m.rank);
  in.need("kind", m.kind);
  in.need("status", m.status);
  in.may("cpu_s", m.cpu_s);
  in.may("peak_memory_bytes", m.peak_memory_bytes);
  in.may("words", m.words);
  return m;
}

StartMessage start(JsonFields& in) {
  StartMessage m;
  in.need("launch", m.launch);
  in.need("rank", m.rank);
  in.need("plan", m.plan);
  in.may("python", m.python);
  in.may("environment", m.environment);
  in.may("cores", m.cores);
  return m;
}

std::optional<CrewMessage> of_type(const std::string& type, JsonFields& in) {
  if (type == "hello") return hello(in);
  if (type == "news") return news(in);
  if (type == "start") return start(in);
  if (type == "interrupted") return InterruptedMessage{};
  if (type == "joined") return JoinedMessage{};
  if (type == "other") return OtherMessage{};
  if (type == "ask_clock") return AskClockMessage{};
  if (type == "line") {
    LineMessage m;
    in.need("launch", m.launch);
    in.need("rank", m.rank);
    in.need("line", m.line);
    return m;
  }
  if (type == "clock") {
    ClockMessage m;
    in.need("at_s", m.at_s);
    return m;
  }
  if (type == "kill") {
    KillMessage m;
    in.need("launch", m.launch);
    in.need("rank", m.rank);
    return m;
  }
  if (type == "end") {
    EndMessage m;
    in.need("code", m.code);
    return m;
  }
  in.fail(ErrorKind::NotSupported, "type", fmt::format("there is no message `{}`", type));
  return std::nullopt;
}

}  // namespace

std::string message_to_line(const CrewMessage& message) {
  return dump(std::visit(ToLine{}, message)) + '\n';
}

Expected<CrewMessage> message_from_line(std::string_view line) {
  auto json = parse_object(line, "message of the control channel");
  if (!json) return tl::unexpected(std::move(json.error()));
  JsonFields fields(*json);
  std::string type;
  fields.need("type", type);
  if (!fields.errors().empty()) return tl::unexpected(fields.errors());
  auto message = of_type(type, fields);
  if (!fields.errors().empty()) return tl::unexpected(fields.errors());
  return *std::move(message);
}

}  // namespace lockstep
