#include "tests/bench/child.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

namespace lockstep::bench {
namespace {

using Clock = std::chrono::steady_clock;

ChildReport wait_for(pid_t child, Clock::time_point start) {
  ChildReport report;
  int status = 0;
  rusage usage{};
  report.ended_well = ::wait4(child, &status, 0, &usage) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  report.wall_s = std::chrono::duration<double>(Clock::now() - start).count();
  report.peak_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
  return report;
}

}  // namespace

ChildReport in_child(const std::function<double()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const auto start = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    const double value = work();
    const bool sent = ::write(ends[1], &value, sizeof value) == static_cast<ssize_t>(sizeof value);
    ::_exit(sent ? 0 : 1);
  }
  ::close(ends[1]);
  double value = 0;
  const bool read = ::read(ends[0], &value, sizeof value) == static_cast<ssize_t>(sizeof value);
  ::close(ends[0]);
  ChildReport report = wait_for(child, start);
  report.value = value;
  report.ended_well &= read;
  return report;
}

ChildReport run_program(const std::vector<std::string>& arguments) {
  std::vector<char*> list;
  for (const auto& argument : arguments) list.push_back(const_cast<char*>(argument.c_str()));
  list.push_back(nullptr);
  const auto start = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::execv(list[0], list.data());
    ::_exit(127);
  }
  return wait_for(child, start);
}

}  // namespace lockstep::bench
