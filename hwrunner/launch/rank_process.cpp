#include "hwrunner/launch/rank_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

namespace lockstep {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kLastWords = 4096;

Error failed(const char* what) {
  Error error;
  error.kind = ErrorKind::RunFailed;
  error.message = fmt::format("a rank cannot be started: {}: {}", what, std::strerror(errno));
  return error;
}

// Both ends are closed when a program is executed; not the launcher's alone, so that no rank holds another's pipe.
bool make_pipe(int (&ends)[2]) {
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  // Above the descriptors that the child arranges.
  for (int& end : ends) {
    if (end > kRecordDescriptor) continue;
    const int moved = ::fcntl(end, F_DUPFD_CLOEXEC, kRecordDescriptor + 1);
    ::close(end);
    end = moved;
    if (moved < 0) return false;
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return true;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct Prepared {
  std::vector<char*> arguments, environment;
  const char* program;
  cpu_set_t cores;
  bool pinned;
  pid_t launcher;
  int nothing, records, words, start_failure;  // descriptors
};

// After fork: only what is safe there. The cause of a failure goes through `start_failure`, which success closes.
[[noreturn]] void become(const Prepared& p) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != p.launcher) ::_exit(0);
  for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) ::signal(one, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (p.pinned) ::sched_setaffinity(0, sizeof p.cores, &p.cores);
  ::dup2(p.nothing, STDIN_FILENO);
  ::dup2(p.words, STDOUT_FILENO);
  ::dup2(p.words, STDERR_FILENO);
  ::dup2(p.records, kRecordDescriptor);
  ::execve(p.program, p.arguments.data(), p.environment.data());
  const int cause = errno;
  [[maybe_unused]] const ssize_t written = ::write(p.start_failure, &cause, sizeof cause);
  ::_exit(127);
}

// Waits until the child has executed its program. 0, or why it could not.
int wait_for_execution(int descriptor) {
  int cause = 0;
  ssize_t n = 0;
  do n = ::read(descriptor, &cause, sizeof cause);
  while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(sizeof cause) ? cause : 0;
}

}  // namespace

Expected<RankProcess> RankProcess::start(const ProcessRequest& request) {
  int records[2] = {-1, -1}, words[2] = {-1, -1}, failure[2] = {-1, -1};
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const auto close_all = [&](std::initializer_list<int> all) {
    for (const int one : all)
      if (one >= 0) ::close(one);
  };
  if (nothing < 0 || !make_pipe(records) || !make_pipe(words) || !make_pipe(failure)) {
    Error error = failed("no pipe");
    close_all({nothing, records[0], records[1], words[0], words[1], failure[0], failure[1]});
    return tl::unexpected(Errors{std::move(error)});
  }
  ::fcntl(failure[0], F_SETFL, 0);  // this one is waited for
  std::vector<std::string> arguments = request.arguments, environment = request.environment;
  arguments.insert(arguments.begin(), request.program);
  Prepared p{pointers_to(arguments),
             pointers_to(environment),
             request.program.c_str(),
             {},
             !request.cores.empty(),
             ::getpid(),
             nothing,
             records[1],
             words[1],
             failure[1]};
  CPU_ZERO(&p.cores);
  for (const int core : request.cores) CPU_SET(static_cast<std::size_t>(core), &p.cores);
  std::fflush(nullptr);  // else the child might write it once more
  const pid_t child = ::fork();
  if (child == 0) become(p);
  close_all({nothing, records[1], words[1], failure[1]});
  RankProcess process;
  process.records_ = records[0];
  process.words_ = words[0];
  if (child < 0) {
    ::close(failure[0]);
    return tl::unexpected(Errors{failed("no process")});
  }
  process.pid_ = child;
  process.running_ = true;
  ::setpgid(child, child);  // here too: whoever comes first
  const int cause = wait_for_execution(failure[0]);
  ::close(failure[0]);
  if (cause == 0) return process;
  errno = cause;
  Error error = failed("its program");
  error.found = request.program;
  process.reap();
  return tl::unexpected(Errors{std::move(error)});
}

RankProcess::RankProcess(RankProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      running_(std::exchange(other.running_, false)),
      records_(std::exchange(other.records_, -1)),
      words_(std::exchange(other.words_, -1)),
      unfinished_(std::move(other.unfinished_)),
      last_words_(std::move(other.last_words_)),
      cpu_s_(other.cpu_s_),
      peak_memory_bytes_(other.peak_memory_bytes_) {}

RankProcess::~RankProcess() {
  if (running_) {
    kill_group();
    reap();
  }
  if (records_ >= 0) ::close(records_);
  if (words_ >= 0) ::close(words_);
}

std::vector<int> RankProcess::descriptors() const {
  std::vector<int> open;
  for (const int one : {records_, words_})
    if (one >= 0) open.push_back(one);
  return open;
}

const std::string& RankProcess::hear_words() {
  read_words();
  return last_words_;
}

std::vector<std::string> RankProcess::read_lines(bool& overlong) {
  std::vector<std::string> lines;
  char buffer[16384];
  while (records_ >= 0) {
    const ssize_t n = ::read(records_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) {
      ::close(std::exchange(records_, -1));
      break;
    }
    unfinished_.append(buffer, static_cast<std::size_t>(n));
    std::size_t start = 0;
    for (std::size_t end = 0; (end = unfinished_.find('\n', start)) != std::string::npos; start = end + 1)
      lines.push_back(unfinished_.substr(start, end - start));
    unfinished_.erase(0, start);
    if (unfinished_.size() > kLongestLine) {
      overlong = true;
      unfinished_.clear();
    }
  }
  return lines;
}

void RankProcess::read_words() {
  char buffer[4096];
  while (words_ >= 0) {
    const ssize_t n = ::read(words_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      ::close(std::exchange(words_, -1));
      return;
    }
    last_words_.append(buffer, static_cast<std::size_t>(n));
    if (last_words_.size() > kLastWords) last_words_.erase(0, last_words_.size() - kLastWords);
  }
}

void RankProcess::ended(const rusage& usage) {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  running_ = false;
  cpu_s_ = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  peak_memory_bytes_ = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

RankProcess::News RankProcess::news() {
  if (!running_) return {};
  int status = 0;
  rusage usage{};
  const pid_t changed = ::wait4(pid_, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage);
  if (changed != pid_) return {};
  if (WIFSTOPPED(status)) return {News::Kind::Stopped, WSTOPSIG(status)};
  if (WIFCONTINUED(status)) return {News::Kind::Continued, 0};
  ended(usage);
  if (WIFSIGNALED(status)) return {News::Kind::Signalled, WTERMSIG(status)};
  return {News::Kind::Exited, WEXITSTATUS(status)};
}

void RankProcess::kill_group() {
  if (pid_ > 0) ::kill(-pid_, SIGKILL);
}

void RankProcess::reap() {
  if (!running_) return;
  int status = 0;
  rusage usage{};
  while (::wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  ended(usage);
}

}  // namespace lockstep
