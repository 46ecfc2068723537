// What tests of launches share: plans for the fake worker and orders to it.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "hwrunner/launch/launcher.h"

namespace lockstep::testing {

inline RunPlan fake_plan(Strategy strategy, int world_size) {
  RunPlan plan;
  plan.strategy = strategy;
  plan.world_size = world_size;
  plan.warm_up = 2;
  plan.steps = 6;
  plan.timeouts = {1.5, 1.5, 3};
  plan.scenario = "model: resnet18\n";
  return plan;
}

inline LaunchOptions fake_options(const std::string& orders = "") {
  LaunchOptions options;
  options.program = LOCKSTEP_FAKE_WORKER;
  options.environment = {"LOCKSTEP_FAKE=" + orders};
  return options;
}

// A folder in which ranks leave their pids; says which of them still run.
class Pids {
 public:
  Pids() : folder_(::testing::TempDir() + "lockstep-pids-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans come here, where they are counted and reaped
  }
  ~Pids() { std::filesystem::remove_all(folder_); }
  const std::string& folder() const { return folder_; }
  std::vector<pid_t> all() const {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      found.push_back(static_cast<pid_t>(std::stol(entry.path().filename().string())));
    return found;
  }
  // A zombie has ended: what is left of it is an exit code.
  std::vector<pid_t> running() const {
    std::vector<pid_t> found;
    for (const pid_t pid : all()) {
      ::waitpid(pid, nullptr, WNOHANG);
      std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
      std::string text;
      std::getline(stat, text);
      const std::size_t bracket = text.rfind(')');
      if (bracket != std::string::npos && bracket + 2 < text.size() && text[bracket + 2] != 'Z') found.push_back(pid);
    }
    return found;
  }

 private:
  std::string folder_;
};

}  // namespace lockstep::testing
