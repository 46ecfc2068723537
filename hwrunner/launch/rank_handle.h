// A rank of a launch as the launcher sees it: a process of its own (rank_process.h), or one that another host's
// `lockstep measure` started for it (hwrunner/crew).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

class RankHandle {
 public:
  RankHandle() = default;
  RankHandle(const RankHandle&) = default;
  RankHandle& operator=(const RankHandle&) = default;
  virtual ~RankHandle() = default;

  virtual bool running() const = 0;
  // To poll for reading.
  virtual std::vector<int> descriptors() const = 0;

  struct News {
    enum class Kind { None, Exited, Signalled, Stopped, Continued } kind = Kind::None;
    int status = 0;  // exit code or signal
  };
  // What has become of it since the last call, without waiting.
  virtual News news() = 0;
  // Whole lines of records that have come since the last call, without newline. `overlong`: more than 1 MiB without
  // one.
  virtual std::vector<std::string> read_lines(bool& overlong) = 0;
  // The end of what it wrote to standard output and standard error so far.
  virtual const std::string& hear_words() = 0;
  virtual void kill_group() = 0;  // SIGKILL, with all that it has started; ends as Signalled
  virtual void reap() = 0;        // waits for the end

  // Of the ended process: user and system time of all its threads, largest resident set.
  virtual double cpu_s() const = 0;
  virtual std::int64_t peak_memory_bytes() const = 0;
};

}  // namespace lockstep
