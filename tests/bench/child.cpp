#include "tests/bench/child.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

namespace lockstep::bench {
namespace {

using Clock = std::chrono::steady_clock;

ChildReport report_of(int status, const rusage& usage, Clock::time_point start) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  ChildReport report;
  report.ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  report.wall_s = std::chrono::duration<double>(Clock::now() - start).count();
  report.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  report.peak_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
  return report;
}

ChildReport wait_for(pid_t child, Clock::time_point start) {
  int status = 0;
  rusage usage{};
  return ::wait4(child, &status, 0, &usage) == child ? report_of(status, usage, start) : ChildReport{};
}

// Peak resident memory of a process that runs; 0 when it is gone.
double peak_of(const std::string& process) {
  std::ifstream status("/proc/" + process + "/status");
  for (std::string line; std::getline(status, line);) {
    double kib = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %lf", &kib) == 1) return kib * 1024;
  }
  return 0;
}

double peak_of_forked(const std::string& process) {
  std::ifstream children("/proc/" + process + "/task/" + process + "/children");
  double most = 0;
  for (std::string child; children >> child;) most = std::max(most, peak_of(child));
  return most;
}

pid_t start_program(const std::vector<std::string>& arguments) {
  std::vector<char*> list;
  for (const auto& argument : arguments) list.push_back(const_cast<char*>(argument.c_str()));
  list.push_back(nullptr);
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int nowhere = ::open("/dev/null", O_WRONLY);
  ::dup2(nowhere, STDOUT_FILENO);
  ::execv(list[0], list.data());
  ::_exit(127);
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
  const auto start = Clock::now();
  return wait_for(start_program(arguments), start);
}

WatchedReport watch_program(const std::vector<std::string>& arguments) {
  const auto start = Clock::now();
  const pid_t child = start_program(arguments);
  const std::string process = std::to_string(child);
  WatchedReport report;
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, WNOHANG, &usage) == 0) {
    report.own_peak_bytes = std::max(report.own_peak_bytes, peak_of(process));
    report.forked_peak_bytes = std::max(report.forked_peak_bytes, peak_of_forked(process));
    ::usleep(20'000);
  }
  static_cast<ChildReport&>(report) = report_of(status, usage, start);
  return report;
}

}  // namespace lockstep::bench
