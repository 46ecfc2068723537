// A point in a forked child: the child builds its engine, simulates, sends its Run through a pipe and leaves by _exit.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "simulator/answers/point.h"
#include "simulator/result/json.h"

namespace lockstep {
namespace {

tl::unexpected<Errors> failed(const PointInputs& inputs, const std::string& why) {
  Error error;
  error.kind = ErrorKind::RunFailed;
  error.file = inputs.scenario->file;
  error.message = fmt::format("the simulation of {} on {} GPUs {}", name_of(inputs.strategy), inputs.gpus, why);
  error.hint = "this is a fault of lockstep: please report it with the scenario";
  return tl::make_unexpected(Errors{error});
}

bool write_all(int fd, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(fd, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    written += static_cast<std::size_t>(n);
  }
  return true;
}

std::string read_all(int fd) {
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

[[noreturn]] void be_the_child(int out, const PointInputs& inputs, const PointOptions& options) {
  std::signal(SIGINT, SIG_DFL);
  const bool sent = write_all(out, run_to_message(predict_point(inputs, options)));
  ::_exit(sent ? 0 : 1);  // no destructors: SimGrid's are slow and nothing is left to save
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Expected<Run> predict_point_apart(const PointInputs& inputs, const PointOptions& options) {
  if (options.method == Method::Estimate) return predict_point(inputs, options);
  int ends[2];
  if (::pipe(ends) != 0) return failed(inputs, fmt::format("could not start: {}", std::strerror(errno)));
  std::fflush(nullptr);  // SimGrid flushes in the child what the parent had not written yet: twice on the screen
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return failed(inputs, fmt::format("could not start: {}", std::strerror(errno)));
  }
  if (child == 0) {
    ::close(ends[0]);
    be_the_child(ends[1], inputs, options);
  }
  ::close(ends[1]);
  const std::string message = read_all(ends[0]);
  ::close(ends[0]);
  const int status = wait_for(child);
  if (WIFSIGNALED(status)) return failed(inputs, fmt::format("died: {}", strsignal(WTERMSIG(status))));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return failed(inputs, fmt::format("ended with status {}", WEXITSTATUS(status)));
  return run_from_message(message);
}

}  // namespace lockstep
