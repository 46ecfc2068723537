#include "simulator/sweep/workers.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "simulator/base/ensure.h"

namespace lockstep {
namespace {

// False at the end of the stream.
bool send_all(int socket, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t n = ::send(socket, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool receive_all(int socket, void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t n = ::recv(socket, at, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

[[noreturn]] void work(int socket, const std::function<std::string(std::size_t)>& compute) {
  std::uint64_t piece = 0;
  while (receive_all(socket, &piece, sizeof piece)) {
    const std::string text = compute(static_cast<std::size_t>(piece));
    const std::uint64_t size = text.size();
    if (!send_all(socket, &size, sizeof size) || !send_all(socket, text.data(), text.size())) break;
  }
  ::_exit(0);
}

}  // namespace

Workers::Workers(int count, std::function<std::string(std::size_t)> compute, std::function<void()> in_child)
    : compute_(std::move(compute)), in_child_(std::move(in_child)), workers_(static_cast<std::size_t>(count)) {}

Workers::~Workers() {
  for (Worker& worker : workers_) {
    if (worker.pid < 0) continue;
    ::kill(-worker.pid, SIGKILL);  // the group: the worker and the simulation that it forked
    end_of(worker);
  }
}

bool Workers::start(Worker& worker) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  std::fflush(nullptr);  // else the child would write it once more
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return false;
  }
  if (child == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    ::close(ends[0]);
    for (const Worker& other : workers_)
      if (other.socket >= 0) ::close(other.socket);
    if (in_child_) in_child_();
    work(ends[1], compute_);
  }
  ::setpgid(child, child);
  ::close(ends[1]);
  worker.pid = child;
  worker.socket = ends[0];
  return true;
}

bool Workers::idle() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return !worker.piece; });
}

bool Workers::busy() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.piece.has_value(); });
}

bool Workers::give(std::size_t piece) {
  const auto worker = std::find_if(workers_.begin(), workers_.end(), [](const Worker& one) { return !one.piece; });
  LOCKSTEP_ENSURE(worker != workers_.end(), "piece {} given to {} workers that all work", piece, workers_.size());
  if (worker->pid < 0 && !start(*worker)) return false;
  const std::uint64_t number = piece;
  send_all(worker->socket, &number, sizeof number);  // one that died is noticed by wait
  worker->piece = piece;
  return true;
}

std::vector<WorkDone> Workers::wait(int timeout_ms) {
  std::vector<pollfd> sockets;
  std::vector<Worker*> working;
  for (Worker& worker : workers_) {
    if (!worker.piece) continue;
    sockets.push_back({worker.socket, POLLIN, 0});
    working.push_back(&worker);
  }
  std::vector<WorkDone> done;
  if (::poll(sockets.data(), sockets.size(), timeout_ms) <= 0) return done;
  for (std::size_t i = 0; i < sockets.size(); ++i)
    if (sockets[i].revents != 0) done.push_back(collect(*working[i]));
  return done;
}

WorkDone Workers::collect(Worker& worker) {
  WorkDone done;
  done.piece = *worker.piece;
  worker.piece.reset();
  std::uint64_t size = 0;
  bool whole = receive_all(worker.socket, &size, sizeof size);
  if (whole) {
    done.text.resize(size);
    whole = receive_all(worker.socket, done.text.data(), size);
  }
  if (!whole) {
    done.text.clear();
    done.died = end_of(worker);
  }
  return done;
}

std::string Workers::end_of(Worker& worker) {
  ::close(worker.socket);
  int status = 0;
  while (::waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
  }
  worker = Worker{};
  if (WIFSIGNALED(status)) return fmt::format("its process died: {}", strsignal(WTERMSIG(status)));
  return fmt::format("its process ended with status {}", WEXITSTATUS(status));
}

}  // namespace lockstep
