// What tests of processes that measure as one share: rank 0 is the test, the others are its children, each on a host of
// its own by name, with the fake worker as the runner.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hwrunner/crew/crew.h"
#include "tests/hwrunner/fake.h"
#include "tests/hwrunner/records.h"

namespace lockstep::testing {

inline CrewPlace place_of(int number, int members, int port) {
  CrewPlace place;
  place.launcher = "tests";
  place.process = "rank";
  place.number = number;
  place.members = members;
  place.address = "127.0.0.1";
  place.ports = {port};
  place.token = "a token";
  return place;
}

inline CrewFacts facts_of(int number) {
  CrewFacts facts;
  this_host(facts);
  facts.host = "host" + std::to_string(number);
  facts.host_id = facts.host;
  facts.cores = {0, 1};
  facts.plan = {{"the scenario", "1"}, {"the model", "2"}};
  return facts;
}

// The other processes of a crew, each a child of the test. They tell their errors by a file.
class Others {
 public:
  explicit Others(std::string folder) : folder_(std::move(folder)) {}
  ~Others() {
    for (const pid_t pid : pids_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
  Others(const Others&) = delete;
  Others& operator=(const Others&) = delete;

  void start(const CrewPlace& place, const CrewFacts& facts, std::function<double()> clock = host_clock_s,
             double patience_s = 30) {
    const pid_t child = fork();
    if (child == 0) {
      CrewOptions options;
      options.patience_s = patience_s;
      options.program = LOCKSTEP_FAKE_WORKER;
      options.clock = std::move(clock);
      const auto code = serve_crew(place, facts, options);
      if (!code) std::ofstream(error_file(getpid())) << code.error().front().message;
      _exit(code ? *code : 99);
    }
    pids_.push_back(child);
  }
  pid_t pid(std::size_t i) const { return pids_.at(i); }
  // Exit codes, when all have ended. 99: with an error.
  std::vector<int> codes() {
    std::vector<int> all;
    for (const pid_t pid : pids_) {
      int status = 0;
      waitpid(pid, &status, 0);
      all.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    ended_ = std::exchange(pids_, {});
    return all;
  }
  std::string error(std::size_t i) const {
    std::ifstream in(error_file(ended_.at(i)));
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string error_file(pid_t pid) const { return folder_ + "/../error-" + std::to_string(pid); }
  std::string folder_;
  std::vector<pid_t> pids_, ended_;
};

class CrewOf : public ::testing::Test {
 protected:
  void SetUp() override { setenv("LOCKSTEP_FAKE_PIDS", pids_.folder().c_str(), 1); }
  void TearDown() override {
    others_.codes();
    EXPECT_THAT(pids_.running(), ::testing::IsEmpty());
  }
  // Rank 0 here, the others in children, each on a host of its own by name.
  std::unique_ptr<Crew> crew_of(int members, const std::function<double()>& clock = host_clock_s) {
    for (int i = 1; i < members; ++i) others_.start(place_of(i, members, port_), facts_of(i), clock);
    auto crew = assembled(members);
    EXPECT_TRUE(crew) << (crew ? "" : crew.error().front().message);
    return crew ? *std::move(crew) : nullptr;
  }
  Expected<std::unique_ptr<Crew>> assembled(int members, double patience_s = 30) {
    CrewOptions options;
    options.patience_s = patience_s;
    options.stop = &stop_;
    return Crew::assemble(place_of(0, members, port_), facts_of(0), options);
  }
  // All that is wrong, in one text.
  std::string trouble(int members, double patience_s = 30) {
    const auto crew = assembled(members, patience_s);
    if (crew) return "";
    std::string text;
    for (const Error& error : crew.error()) {
      EXPECT_EQ(error.kind, ErrorKind::RunFailed);
      text += error.message + "\n";
    }
    return text;
  }
  // A long run in which the other process gets a signal after its rank's fifth step.
  std::pair<RunPlan, LaunchOptions> that_hits_the_other(int signal) {
    RunPlan plan = fake_plan(Strategy::Ddp, 2);
    plan.steps = 1'000'000;
    LaunchOptions options = fake_options();
    options.on_record = [this, signal](int rank, const Record& record) {
      const auto* step = std::get_if<RankStepRecord>(&record);
      if (rank == 1 && step != nullptr && step->step == 5) kill(others_.pid(0), signal);
    };
    return {plan, options};
  }
  static std::string sentence_of(const LaunchOutcome& outcome) {
    return outcome.failure ? outcome.failure->sentence : "nothing failed";
  }

  Pids pids_;
  Others others_{pids_.folder()};
  int port_ = free_port();
  volatile std::sig_atomic_t stop_ = 0;
};

}  // namespace lockstep::testing
