// What tests of the program with LibTorch share: tiny scenarios and plans, launches of real ranks that meet over Gloo,
// and programs that stand between the launcher and rank 1.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "hwrunner/launch/launcher.h"
#include "hwrunner/launch/rank_process.h"
#include "tests/hwrunner/records.h"

namespace lockstep::testing {

// 40 x 64 + 64 and 64 x 10 + 10 parameters.
inline std::string scenario(const std::string& more = "") {
  return "model: {mlp: {inputs: 40, hidden: [64], outputs: 10}}\nbatch: {global: 8}\n"
         "topology: {node: cpu-host, gpus_per_node: 2}\ngpus: [1, 2]\nstrategy: [dp, ddp]\noptimizer: adam\n"
         "ddp: {bucket_cap: 2KiB}\nmeasure: {steps: 3, warm_up: 2, repeats: 1, timeout: 20s}\n" +
         more;
}

inline RunPlan plan_of(Strategy strategy, int world_size) {
  RunPlan plan;
  plan.strategy = strategy;
  plan.world_size = world_size;
  plan.per_gpu_batch = 4;
  plan.warm_up = 2;
  plan.steps = 2;
  plan.instrumented = true;
  plan.timeouts = {60, 60, 80};
  plan.scenario = scenario();
  return plan;
}

inline bool is_there(std::int64_t pid) {
  return std::filesystem::exists("/proc/" + std::to_string(pid));
}

// A folder for programs of the test's own making.
class Runner : public ::testing::Test {
 protected:
  Runner() : folder_(std::filesystem::path(::testing::TempDir()) / ("lockstep-runner-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "GLOO_SOCKET_IFNAME"}) unsetenv(name);
    use(LOCKSTEP_HWRUNNER);
  }
  ~Runner() override { std::filesystem::remove_all(folder_); }
  static void use(const std::string& program) { setenv("LOCKSTEP_HWRUNNER", program.c_str(), 1); }

  // The runner, but before rank 1 starts, `line` of shell is run with the plan's path in $3.
  std::string with_another_rank_1(const std::string& line) const {
    const std::string path = (folder_ / "runner").string();
    std::ofstream(path) << "#!/bin/sh\nif [ \"$1\" = worker ] && [ \"$RANK\" = 1 ]; then\n"
                        << line << "\nfi\nexec '" << LOCKSTEP_HWRUNNER << "' \"$@\"\n";
    ::chmod(path.c_str(), 0755);
    return path;
  }
  // Rank 1's plan with one text in another's place.
  std::string with_another_plan(const std::string& from, const std::string& to) const {
    return with_another_rank_1("sed 's/" + from + "/" + to +
                               "/' \"$3\" >\"$3.1\"; set -- worker --plan \"$3.1\" \"$4\" \"$5\"");
  }

  // Launches and checks that no process is left.
  static LaunchOutcome launched(const RunPlan& plan, LaunchOptions options = {}) {
    if (options.program.empty()) options.program = LOCKSTEP_HWRUNNER;
    LaunchOutcome outcome = launch(plan, options);
    for (const RankLog& rank : outcome.ranks)
      for (const HelloRecord& hello : records_of<HelloRecord>(rank)) EXPECT_FALSE(is_there(hello.pid));
    return outcome;
  }
  static LaunchOutcome launched_by(const std::string& program, const RunPlan& plan) {
    LaunchOptions options;
    options.program = program;
    return launched(plan, options);
  }
  // Sends rank 1 a signal when it has done its third step.
  static LaunchOutcome launched_and_hit(RunPlan plan, int signal) {
    plan.steps = 1'000'000;
    plan.instrumented = false;
    LaunchOptions options;
    pid_t pid = 0;
    options.on_record = [&pid, signal](int rank, const Record& record) {
      if (rank != 1) return;
      if (const auto* hello = std::get_if<HelloRecord>(&record)) pid = static_cast<pid_t>(hello->pid);
      if (const auto* step = std::get_if<RankStepRecord>(&record); step != nullptr && step->step == 2)
        ::kill(pid, signal);
    };
    return launched(plan, options);
  }

  // A rank that somebody else started: what it said, and its exit code.
  struct Alone {
    RankLog log;
    int code = -1;
  };
  Alone alone(const RunPlan& plan, const std::string& variables) const {
    const std::string file = (folder_ / "plan.json").string();
    std::ofstream(file) << plan_to_json(plan);
    const std::string line = variables + " '" + LOCKSTEP_HWRUNNER + "' worker --plan '" + file + "' --records 1";
    Alone result;
    FILE* pipe = popen(line.c_str(), "r");
    if (pipe == nullptr) return result;
    char text[65536];
    while (fgets(text, sizeof text, pipe) != nullptr) {
      const auto record = record_from_line(std::string_view(text).substr(0, std::strlen(text) - 1));
      EXPECT_TRUE(record) << text;
      if (record) result.log.records.push_back(*record);
    }
    const int status = pclose(pipe);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
  }
  static ErrorRecord error_of(const RankLog& log) {
    const auto errors = records_of<ErrorRecord>(log);
    return errors.empty() ? ErrorRecord{} : errors.front();
  }

  std::filesystem::path folder_;
};

}  // namespace lockstep::testing
