// Real processes for tests: forks one per rank, before LibTorch has started a thread, and collects what each sends.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace lockstep {

// A port that nobody listens on at this moment.
inline int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(socket);
  return bound ? ntohs(address.sin_port) : 0;
}

// What ranks exchange: numbers, or the text of an error.
struct RankReport {
  std::vector<double> numbers;
  std::string error;
};

inline void write_all(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(fd, at, size);
    if (written <= 0) _exit(3);
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

inline bool read_all(int fd, void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = read(fd, at, size);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

// Runs f(rank) in `world` processes at once. A child that dies without a report has an error that says so.
inline std::vector<RankReport> run_ranks(int world, const std::function<RankReport(int)>& f) {
  std::vector<int> pipes;
  std::vector<pid_t> children;
  for (int rank = 0; rank < world; ++rank) {
    int ends[2] = {-1, -1};
    if (pipe(ends) != 0) return {};
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      const RankReport report = f(rank);
      const std::size_t counts[2] = {report.numbers.size(), report.error.size()};
      write_all(ends[1], counts, sizeof counts);
      write_all(ends[1], report.numbers.data(), counts[0] * sizeof(double));
      write_all(ends[1], report.error.data(), counts[1]);
      _exit(0);
    }
    close(ends[1]);
    pipes.push_back(ends[0]);
    children.push_back(child);
  }
  std::vector<RankReport> reports;
  for (std::size_t i = 0; i < pipes.size(); ++i) {
    RankReport& report = reports.emplace_back();
    std::size_t counts[2] = {0, 0};
    if (read_all(pipes[i], counts, sizeof counts)) {
      report.numbers.resize(counts[0]);
      report.error.resize(counts[1]);
      read_all(pipes[i], report.numbers.data(), counts[0] * sizeof(double));
      read_all(pipes[i], report.error.data(), counts[1]);
    } else {
      report.error = "the process ended without a report";
    }
    close(pipes[i]);
    int status = 0;
    waitpid(children[i], &status, 0);
  }
  return reports;
}

}  // namespace lockstep
