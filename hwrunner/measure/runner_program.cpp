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
constexpr const char* kEnv = "/usr/bin/env";
constexpr const char* kGetLibTorch = "./lockstep.sh libtorch && ./lockstep.sh build";
constexpr const char* kGetCudaLibTorch = "./lockstep.sh libtorch cuda && ./lockstep.sh build";

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

Expected<Spoken> start_and_hear(const std::string& program, std::vector<std::string> words = {}) {
  ProcessRequest request;
  request.program = program;
  for (const std::string& word : {std::string("probe"), std::string("--records"), fmt::format("{}", kRecordDescriptor)})
    words.push_back(word);
  request.arguments = std::move(words);
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

std::string python_script() {
  std::error_code failure;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failure);
  const auto installed = (self.parent_path() / "../share/lockstep/lockstep_train.py").lexically_normal();
  if (std::filesystem::exists(installed, failure)) return installed.string();
  return LOCKSTEP_SOURCE_ROOT "/hwrunner/python/lockstep_train.py";
}

std::vector<std::string> pythons() {
  if (const char* given = std::getenv("LOCKSTEP_PYTHON"); given != nullptr && *given != '\0') return {given};
  const std::string ours = LOCKSTEP_SOURCE_ROOT "/.lockstep/libtorch/bin/python";
  std::vector<std::string> list;
  std::error_code failure;
  for (const std::string& one : {ours + "-cpu", ours})
    if (std::filesystem::exists(one, failure)) list.push_back(one);
  list.push_back("python3");
  return list;
}

Expected<RunnerProbe> with_backend(RunnerProbe probe, Backend backend) {
  if (std::find(probe.backends.begin(), probe.backends.end(), name_of(backend)) != probe.backends.end()) return probe;
  return tl::unexpected(
      Errors{failed(fmt::format("no {} here: {}", backend == Backend::Nccl ? "NCCL" : "Gloo",
                                probe.missing.empty() ? "the runner's LibTorch was built without it" : probe.missing),
                    backend == Backend::Nccl ? "--backend gloo measures on the CPU" : kGetLibTorch)});
}

}  // namespace

std::string runner_path(bool on_gpus) {
  if (const char* given = std::getenv("LOCKSTEP_HWRUNNER"); given != nullptr && *given != '\0') return given;
  std::error_code failure;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failure);
  const char* name = on_gpus ? "lockstep-hwrunner-cuda" : "lockstep-hwrunner";
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
  const auto named = [&](const char* key, std::map<std::string, std::string>& values) {
    if (json.contains(key) && json[key].is_object())
      for (auto it = json[key].begin(); it != json[key].end(); ++it)
        if (it.value().is_string()) values[it.key()] = it.value().get<std::string>();
  };
  named("software", probe.software);
  named("machine", probe.machine);
  if (json.contains("missing") && json["missing"].is_string()) probe.missing = json["missing"].get<std::string>();
  return probe;
}

std::string probe_to_line(const RunnerProbe& probe) {
  const Json json = {{"protocol", kRunnerProtocol}, {"software", probe.software}, {"backends", probe.backends},
                     {"devices", probe.devices},    {"machine", probe.machine},   {"missing", probe.missing}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Expected<RunnerProbe> probe_runner(Backend backend, bool on_gpus) {
  const std::string program = runner_path(on_gpus);
  std::error_code failure;
  if (!std::filesystem::exists(program, failure)) {
    if (const char* given = std::getenv("LOCKSTEP_HWRUNNER"); given != nullptr && *given != '\0')
      return tl::unexpected(Errors{
          failed("`lockstep measure` needs the hardware runner, and the one that LOCKSTEP_HWRUNNER names is not there",
                 fmt::format("unset LOCKSTEP_HWRUNNER: the runner beside this program is taken then, which {} makes",
                             on_gpus ? kGetCudaLibTorch : kGetLibTorch),
                 program)});
    return tl::unexpected(Errors{
        on_gpus ? failed("`lockstep measure` needs the hardware runner for GPUs, which was not built: no LibTorch with "
                         "CUDA and NCCL was there",
                         kGetCudaLibTorch, program)
                : failed("`lockstep measure` needs the hardware runner, which was not built: LibTorch was not there",
                         kGetLibTorch, program)});
  }
  auto spoken = start_and_hear(program);
  if (!spoken) return tl::unexpected(std::move(spoken.error()));
  if (!spoken->good || spoken->lines.empty())
    return tl::unexpected(Errors{failed(
        fmt::format("the hardware runner does not start ({}): {}", spoken->end, telling_line(spoken->words)),
        spoken->words.find("shared librar") != std::string::npos ? kGetLibTorch : "./lockstep.sh build", program)});
  auto probe = probe_from_line(spoken->lines.front());
  if (!probe) return probe;
  probe->program = program;
  return with_backend(*std::move(probe), backend);
}

Expected<RunnerProbe> probe_python_runner(Backend backend) {
  const std::string script = python_script();
  std::string why;
  for (const std::string& python : pythons()) {
    // env finds a name in PATH; -B: no bytecode beside the installed file.
    const std::vector<std::string> words{python, "-B", "-W", "ignore", script};
    auto spoken = start_and_hear(kEnv, words);
    if (!spoken) return tl::unexpected(std::move(spoken.error()));
    if (!spoken->good || spoken->lines.empty()) {
      why = telling_line(spoken->words);
      continue;
    }
    auto probe = probe_from_line(spoken->lines.front());
    if (!probe) return probe;
    probe->program = kEnv;
    probe->words = words;
    return with_backend(*std::move(probe), backend);
  }
  return tl::unexpected(Errors{failed(fmt::format("`front_end: python` needs a Python that can import torch: {}", why),
                                      "./lockstep.sh libtorch, or export LOCKSTEP_PYTHON=a Python with PyTorch")});
}

}  // namespace lockstep
