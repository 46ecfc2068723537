// Inside launch: one process of a launch, from fork to its end. It is the leader of a process group of its own, dies
// with the launcher (PR_SET_PDEATHSIG), and writes records to one pipe and whatever it prints to another.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hwrunner/launch/rank_handle.h"
#include "simulator/base/error.h"

namespace lockstep {

struct ProcessRequest {
  std::string program;                   // a path
  std::vector<std::string> arguments;    // without the program's name
  std::vector<std::string> environment;  // NAME=value, all of it
  std::vector<int> cores;                // to run on; empty: where the launcher may
};

// Where the child finds the pipe for its records.
inline constexpr int kRecordDescriptor = 3;

class RankProcess : public RankHandle {
 public:
  // Errors: RunFailed (no process, no pipe, the program cannot be executed).
  static Expected<RankProcess> start(const ProcessRequest& request);
  RankProcess(RankProcess&& other) noexcept;
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(RankProcess&&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;
  ~RankProcess() override;  // kills and reaps what still runs

  pid_t pid() const { return pid_; }
  // -1 once closed.
  int records() const { return records_; }
  int words() const { return words_; }
  // Keeps the last 4 KiB.
  void read_words();
  const std::string& last_words() const { return last_words_; }

  bool running() const override { return running_; }
  std::vector<int> descriptors() const override;
  News news() override;
  std::vector<std::string> read_lines(bool& overlong) override;
  const std::string& hear_words() override;
  void kill_group() override;
  void reap() override;
  double cpu_s() const override { return cpu_s_; }
  std::int64_t peak_memory_bytes() const override { return peak_memory_bytes_; }

 private:
  RankProcess() = default;
  void ended(const rusage& usage);

  pid_t pid_ = -1;
  bool running_ = false;
  int records_ = -1, words_ = -1;
  std::string unfinished_, last_words_;
  double cpu_s_ = 0;
  std::int64_t peak_memory_bytes_ = 0;
};

}  // namespace lockstep
