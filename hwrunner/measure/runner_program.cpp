#include "hwrunner/measure/runner_program.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "hwrunner/launch/environment.h"
#include "hwrunner/launch/rank_process.h"
#include "simulator/base/format.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;
// LibTorch with CUDA takes half a second to load from memory; from a slow disk much longer.
constexpr double kStart_s = 120;
constexpr const char* kGetLibTorch = "./lockstep.sh libtorch && ./lockstep.sh build";

Error failed(std::string message, std::string hint, std::string found = "") {
  Error error;
  error.kind = ErrorKind::RunFailed;
  error.message = std::move(message);
  error.hint = std::move(hint);
  error.found = std::move(found);
  return error;
}

// The first line that speaks of a library, or the last one.
std::string telling_line(const std::string& words) {
  std::string line, last;
  for (std::size_t start = 0; start < words.size();) {
    const std::size_t end = std::min(words.find('\n', start), words.size());
    line = words.substr(start, end - start);
    if (line.find("shared librar") != std::string::npos || line.find("symbol") != std::string::npos) return line;
    if (!line.empty()) last = line;
    start = end + 1;
  }
  return last;
}

struct Spoken {
  std::vector<std::string> lines;
  std::string words, end;
  bool good = false;
};

Expected<Spoken> start_and_hear(const std::string& program) {
  ProcessRequest request;
  request.program = program;
  request.arguments = {"probe", "--records", fmt::format("{}", kRecordDescriptor)};
  for (const auto& [name, value] : environment_of_process()) request.environment.push_back(name + "=" + value);
  auto process = RankProcess::start(request);
  if (!process) return tl::unexpected(std::move(process.error()));
  Spoken spoken;
  const auto start = std::chrono::steady_clock::now();
  while (process->running()) {
    pollfd pipes[2] = {{process->records(), POLLIN, 0}, {process->words(), POLLIN, 0}};
    ::poll(pipes, 2, 20);
    const auto news = process->news();
    bool overlong = false;
    for (std::string& line : process->read_lines(overlong)) spoken.lines.push_back(std::move(line));
    process->read_words();
    using Kind = RankProcess::News::Kind;
    spoken.good = news.kind == Kind::Exited && news.status == 0;
    if (news.kind == Kind::Exited) spoken.end = fmt::format("exit code {}", news.status);
    if (news.kind == Kind::Signalled) spoken.end = fmt::format("signal {}", news.status);
    if (std::chrono::steady_clock::now() - start > std::chrono::duration<double>(kStart_s)) {
      process->kill_group();
      process->reap();
      spoken.end = "no answer within " + format_time(kStart_s);
    }
  }
  spoken.words = process->last_words();
  return spoken;
}

}  // namespace

std::string runner_path(Backend backend) {
  if (const char* given = std::getenv("LOCKSTEP_HWRUNNER"); given != nullptr && *given != '\0') return given;
  std::error_code failure;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failure);
  const char* name = backend == Backend::Nccl ? "lockstep-hwrunner-cuda" : "lockstep-hwrunner";
  return (self.parent_path() / name).string();
}

Expected<RunnerProbe> probe_from_line(const std::string& line) {
  const auto wrong = [&line] {
    return tl::unexpected(Errors{failed("the hardware runner does not say what it can do",
                                        "build both programs from one source", shortened(line, 120))});
  };
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("protocol") || !json["protocol"].is_number_integer()) return wrong();
  if (json["protocol"].get<int>() != kRunnerProtocol)
    return tl::unexpected(Errors{failed(fmt::format("the hardware runner speaks protocol {}, this program {}",
                                                    json["protocol"].get<int>(), kRunnerProtocol),
                                        "build both programs from one source")});
  RunnerProbe probe;
  const auto texts = [&](const char* key, std::vector<std::string>& list) {
    if (json.contains(key) && json[key].is_array())
      for (const Json& one : json[key])
        if (one.is_string()) list.push_back(one.get<std::string>());
  };
  texts("backends", probe.backends);
  texts("devices", probe.devices);
  if (json.contains("software") && json["software"].is_object())
    for (auto it = json["software"].begin(); it != json["software"].end(); ++it)
      if (it.value().is_string()) probe.software[it.key()] = it.value().get<std::string>();
  if (json.contains("missing") && json["missing"].is_string()) probe.missing = json["missing"].get<std::string>();
  return probe;
}

std::string probe_to_line(const RunnerProbe& probe) {
  const Json json = {{"protocol", kRunnerProtocol},
                     {"software", probe.software},
                     {"backends", probe.backends},
                     {"devices", probe.devices},
                     {"missing", probe.missing}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Expected<RunnerProbe> probe_runner(Backend backend) {
  const std::string program = runner_path(backend);
  std::error_code failure;
  if (!std::filesystem::exists(program, failure))
    return tl::unexpected(
        Errors{failed("`lockstep measure` needs the hardware runner, which was not built: LibTorch "
                      "was not there",
                      kGetLibTorch, program)});
  auto spoken = start_and_hear(program);
  if (!spoken) return tl::unexpected(std::move(spoken.error()));
  if (!spoken->good || spoken->lines.empty())
    return tl::unexpected(Errors{failed(
        fmt::format("the hardware runner does not start ({}): {}", spoken->end, telling_line(spoken->words)),
        spoken->words.find("shared librar") != std::string::npos ? kGetLibTorch : "./lockstep.sh build", program)});
  auto probe = probe_from_line(spoken->lines.front());
  if (!probe) return probe;
  probe->program = program;
  if (std::find(probe->backends.begin(), probe->backends.end(), name_of(backend)) == probe->backends.end())
    return tl::unexpected(Errors{
        failed(fmt::format("no {} here: {}", backend == Backend::Nccl ? "NCCL" : "Gloo",
                           probe->missing.empty() ? "the runner's LibTorch was built without it" : probe->missing),
               backend == Backend::Nccl ? "--backend gloo measures on the CPU" : kGetLibTorch)});
  return probe;
}

}  // namespace lockstep
