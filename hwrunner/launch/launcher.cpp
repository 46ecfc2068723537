#include "hwrunner/launch/launcher.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "hwrunner/launch/environment.h"
#include "hwrunner/launch/rank_process.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;
// Signals and ends that no pipe tells of are looked for this often.
constexpr int kLookAgain_ms = 20;
// Ranks that said `done` may take this long to leave.
constexpr double kLeave_s = 10;

// A new folder with the plan in it, gone when this is.
class Folder {
 public:
  explicit Folder(RunPlan& plan) {
    std::error_code failure;
    std::string pattern = (std::filesystem::temp_directory_path(failure) / "lockstep-ranks-XXXXXX").string();
    if (failure || ::mkdtemp(pattern.data()) == nullptr) return;
    path_ = pattern;
    plan.rendezvous = path_;
    std::ofstream file(plan_file());
    file << plan_to_json(plan);
    written_ = file.flush().good();
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  bool good() const { return written_; }
  std::string plan_file() const { return path_ + "/plan.json"; }

 private:
  std::string path_;
  bool written_ = false;
};

class Launch {
 public:
  Launch(const RunPlan& plan, const LaunchOptions& options, const Folder& folder)
      : plan_(plan), options_(options), states_(static_cast<std::size_t>(plan.processes())), started_(Clock::now()) {
    outcome_.ranks.resize(states_.size());
    heard_s_.resize(states_.size());
    start_all(folder);
  }

  LaunchOutcome run() {
    while (!outcome_.failure && any_running()) {
      wait_for_news();
      for (std::size_t i = 0; i < processes_.size(); ++i) hear(i);
      if (stopped_by_user()) break;
      judge();
      if (overstayed()) break;
    }
    end_all();
    outcome_.interrupted = stopped_by_user();
    if (!outcome_.failure && !outcome_.interrupted) outcome_.failure = blame(plan_, states_, false);
    outcome_.wall_s = now_s();
    return std::move(outcome_);
  }

 private:
  double now_s() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }
  bool stopped_by_user() const { return options_.stop != nullptr && *options_.stop != 0; }
  bool any_running() const {
    return std::any_of(processes_.begin(), processes_.end(), [](const RankProcess& one) { return one.running(); });
  }

  void start_all(const Folder& folder) {
    const int port = plan_.strategy == Strategy::Ddp ? free_port() : 0;
    for (int rank = 0; rank < plan_.processes(); ++rank) {
      ProcessRequest request;
      request.program = options_.program;
      request.arguments = options_.words;
      for (const std::string& word : {std::string("worker"), std::string("--plan"), folder.plan_file(),
                                      std::string("--records"), fmt::format("{}", kRecordDescriptor)})
        request.arguments.push_back(word);
      request.environment = environment_of_rank(plan_, rank, port, options_.environment);
      if (static_cast<std::size_t>(rank) < options_.cores.size())
        request.cores = options_.cores[static_cast<std::size_t>(rank)];
      auto process = RankProcess::start(request);
      if (!process) {
        outcome_.failure = LaunchFailure{rank, false, process.error().front().message, "", {}};
        return;
      }
      processes_.push_back(*std::move(process));
      heard_s_[static_cast<std::size_t>(rank)] = now_s();
    }
  }

  void wait_for_news() const {
    std::vector<pollfd> pipes;
    for (const RankProcess& one : processes_)
      for (const int descriptor : {one.records(), one.words()})
        if (descriptor >= 0) pipes.push_back({descriptor, POLLIN, 0});
    ::poll(pipes.data(), pipes.size(), kLookAgain_ms);
  }

  // The end is asked for before the pipes: what a rank wrote before it ended is read here at the latest.
  void hear(std::size_t i) {
    RankProcess& process = processes_[i];
    LaunchedRankState& state = states_[i];
    const auto news = process.news();
    bool overlong = false;
    for (const std::string& line : process.read_lines(overlong)) take(i, line);
    if (overlong && state.garbage.empty()) state.garbage = "(more than 1 MiB without an end of line)";
    process.read_words();
    state.last_words = process.last_words();
    using Kind = RankProcess::News::Kind;
    if (news.kind == Kind::Stopped) {
      state.stopped = true;
      state.stop_signal = news.status;
    } else if (news.kind == Kind::Continued) {
      state.stopped = false;
    } else if (news.kind != Kind::None) {
      state.end = news.kind == Kind::Signalled ? LaunchedRankState::End::Signalled : LaunchedRankState::End::Exited;
      state.status = news.status;
      state.ended_s = now_s();
    }
  }

  void take(std::size_t i, const std::string& line) {
    LaunchedRankState& state = states_[i];
    if (!state.garbage.empty()) return;  // nothing after it can be trusted
    auto record = record_from_line(line);
    if (!record) {
      state.garbage = line.empty() ? "(an empty line)" : line;
      state.ended_s = now_s();
      return;
    }
    heard_s_[i] = now_s();
    advance(state, *record);
    if (options_.on_record) options_.on_record(static_cast<int>(i), *record);
    outcome_.ranks[i].records.push_back(*std::move(record));
  }

  void advance(LaunchedRankState& state, const Record& record) const {
    if (std::holds_alternative<HelloRecord>(record)) state.phase = Phase::Building;
    if (std::holds_alternative<JoiningRecord>(record)) state.phase = Phase::Joining;
    if (std::holds_alternative<ReadyRecord>(record)) state.phase = Phase::Joined;
    if (std::holds_alternative<StartRecord>(record)) state.phase = Phase::Stepping;
    if (const auto* step = std::get_if<RankStepRecord>(&record)) state.steps_done = step->step + 1;
    if (std::holds_alternative<BenchRecord>(record)) ++state.steps_done;
    if (std::holds_alternative<DoneRecord>(record)) state.phase = Phase::Done;
    if (const auto* error = std::get_if<ErrorRecord>(&record); error != nullptr && !state.error) {
      state.error = *error;
      state.ended_s = now_s();
    }
  }

  bool too_silent() const {
    for (std::size_t i = 0; i < processes_.size(); ++i)
      if (processes_[i].running() && states_[i].phase != Phase::Done &&
          now_s() - heard_s_[i] > plan_.timeouts.silence_s)
        return true;
    return false;
  }

  // After the first failure the others have `grace_s` to say what they know; then the cause is chosen.
  void judge() {
    const bool silent = too_silent();
    const bool failed = std::any_of(states_.begin(), states_.end(), has_failed);
    if (!failed && !silent) return;
    if (first_failure_s_ < 0) first_failure_s_ = now_s();
    if (silent || !any_running() || now_s() - first_failure_s_ >= options_.grace_s)
      outcome_.failure = blame(plan_, states_, silent);
  }

  // All that is to be known is known, and somebody does not leave.
  bool overstayed() const {
    double last_s = 0;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (states_[i].phase != Phase::Done) return false;
      last_s = std::max(last_s, heard_s_[i]);
    }
    return now_s() - last_s > kLeave_s;
  }

  void end_all() {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (processes_[i].running()) states_[i].killed_by_us = true;
      processes_[i].kill_group();  // also what an ended rank may have left in its group
    }
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      processes_[i].reap();
      bool overlong = false;
      for (const std::string& line : processes_[i].read_lines(overlong)) take(i, line);
      outcome_.ranks[i].cpu_s = processes_[i].cpu_s();
      outcome_.ranks[i].peak_memory_bytes = processes_[i].peak_memory_bytes();
    }
  }

  const RunPlan& plan_;
  const LaunchOptions& options_;
  std::vector<RankProcess> processes_;
  std::vector<LaunchedRankState> states_;
  std::vector<double> heard_s_;  // when each last said something
  Clock::time_point started_;
  double first_failure_s_ = -1;
  LaunchOutcome outcome_;
};

}  // namespace

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool found = socket >= 0 && ::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                     ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (socket >= 0) ::close(socket);
  return found ? ntohs(address.sin_port) : 0;
}

std::vector<std::string> environment_of_rank(const RunPlan& plan, int rank, int port,
                                             const std::vector<std::string>& more) {
  Environment all = environment_of_process();
  // Of launchers around us: our ranks are ours.
  for (auto at = all.begin(); at != all.end();)
    at = at->first.rfind("TORCHELASTIC_", 0) == 0 || at->first == "MASTER_PORT" ? all.erase(at) : std::next(at);
  all["RANK"] = all["LOCAL_RANK"] = fmt::format("{}", rank);
  all["WORLD_SIZE"] = all["LOCAL_WORLD_SIZE"] = fmt::format("{}", plan.processes());
  all["MASTER_ADDR"] = "127.0.0.1";
  if (port != 0) all["MASTER_PORT"] = fmt::format("{}", port);
  all["OMP_NUM_THREADS"] = all["MKL_NUM_THREADS"] = fmt::format("{}", plan.threads_per_rank);
  all["OMP_WAIT_POLICY"] = "PASSIVE";
  all["TORCH_CPP_LOG_LEVEL"] = "FATAL";
  for (const std::string& one : more) {
    const std::size_t equals = std::min(one.find('='), one.size());
    all[one.substr(0, equals)] = one.substr(std::min(equals + 1, one.size()));
  }
  std::vector<std::string> list;
  for (const auto& [name, value] : all) list.push_back(fmt::format("{}={}", name, value));
  return list;
}

LaunchOutcome launch(RunPlan plan, const LaunchOptions& options) {
  const Folder folder(plan);
  if (!folder.good()) {
    LaunchOutcome outcome;
    outcome.failure = LaunchFailure{
        0,
        false,
        fmt::format("the ranks' folder cannot be made in the folder for temporary files: {}", std::strerror(errno)),
        "export TMPDIR=a folder that can be written",
        {}};
    return outcome;
  }
  return Launch(plan, options, folder).run();
}

}  // namespace lockstep
