// A fixed number of forked workers, each of which computes one numbered piece of work at a time and hands back a text.
// A worker holds no engine (a piece that simulates forks once more, answers/point.h), ends when this process does, and
// does not hear the terminal's Ctrl-C. One that dies costs only its piece: another takes its place.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct WorkDone {
  std::size_t piece = 0;
  std::string text;
  std::optional<std::string> died;  // why there is no text
};

class Workers {
 public:
  // `compute` runs in the workers; `in_child` first, to let go of what only this process may hold.
  Workers(int count, std::function<std::string(std::size_t)> compute, std::function<void()> in_child = {});
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();  // kills those that still work, with all that they started

  bool idle() const;                           // one of them has nothing to do
  bool busy() const;                           // one of them has something to do
  bool give(std::size_t piece);                // to an idle one. False: no process could be started
  std::vector<WorkDone> wait(int timeout_ms);  // what was finished; empty after the timeout or a signal

 private:
  struct Worker {
    pid_t pid = -1;
    int socket = -1;
    std::optional<std::size_t> piece;
  };
  bool start(Worker& worker);
  WorkDone collect(Worker& worker);
  std::string end_of(Worker& worker);

  std::function<std::string(std::size_t)> compute_;
  std::function<void()> in_child_;
  std::vector<Worker> workers_;
};

}  // namespace lockstep
