// The launchers that people have: torchrun, srun and mpirun themselves start the program and the real runner. And hosts
// of one machine: network namespaces, with a rendezvous between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "hwrunner/launch/pinning.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

class Launchers : public ::testing::Test {
 protected:
  Launchers() : folder_(fs::path(::testing::TempDir()) / ("lockstep-launchers-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    setenv("LOCKSTEP_HWRUNNER", LOCKSTEP_HWRUNNER, 1);
    for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) unsetenv(name);
    std::ofstream(folder_ / "plan.yaml")
        << "model: {mlp: {inputs: 40, hidden: [64], outputs: 10}}\nbatch: {global: 8}\n"
           "topology: {node: cpu-host, gpus_per_node: 2}\ngpus: [1, 2]\nstrategy: [dp, ddp]\nddp: {bucket_cap: 2KiB}\n"
           "measure: {steps: 3, warm_up: 2, repeats: 1, timeout: 60s}\n";
  }
  ~Launchers() override { fs::remove_all(folder_); }

  static bool has(const std::string& program) {
    return std::system(("PATH=$PATH:/usr/sbin command -v " + program + " >/dev/null").c_str()) == 0;
  }
  // A line of shell; its exit code. What it prints is in out() and err().
  int run(const std::string& line) const {
    const std::string all = "timeout -k 10 200 " + line + " >'" + file("out") + "' 2>'" + file("err") + "'";
    const int status = std::system(all.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string measure(const std::string& more = "") const {
    return std::string(LOCKSTEP_PROGRAM) + " measure '" + file("plan.yaml") + "' --json " + more;
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::string text(const std::string& name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // One document, of rank 0 alone.
  json result() const {
    const json read = json::parse(text("out"), nullptr, false);
    EXPECT_TRUE(read.is_object()) << text("out") << text("err");
    return read;
  }
  // Single, and data-parallel on one and on two ranks.
  void expect_all_rows(const json& read, const std::string& launcher, bool two_replicas,
                       std::size_t repeats = 1) const {
    ASSERT_TRUE(read.contains("runs")) << text("out") << text("err");
    EXPECT_EQ(read["machine"]["launcher"], launcher);
    EXPECT_FALSE(read.contains("partial"));
    ASSERT_EQ(read["runs"].size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
      if (i == 2 && !two_replicas) {
        EXPECT_THAT(read["runs"][i]["not_run"].get<std::string>(), HasSubstr("has bound rank 0 to 1 core"));
        continue;
      }
      EXPECT_EQ(read["runs"][i]["samples"].size(), repeats) << read["runs"][i].dump();
      EXPECT_TRUE(read["runs"][i].contains("breakdown_s"));
    }
    EXPECT_EQ(read["runs"][4]["ranks"].size(), 2U);
    EXPECT_EQ(read["runs"][4]["buckets"].size(), 2U);
  }

  fs::path folder_;
};

// The Python that has torch also has torchrun.
std::string torchrun() {
  for (const char* python : {"/.lockstep/libtorch/bin/python-cpu", "/.lockstep/libtorch/bin/python"}) {
    const std::string path = std::string(LOCKSTEP_SOURCE_DIR) + python;
    if (fs::exists(path) && std::system((path + " -c 'import torch.distributed.run' 2>/dev/null").c_str()) == 0)
      return path + " -W ignore -m torch.distributed.run";
  }
  return "";
}

TEST_F(Launchers, torchrun_starts_ranks_that_meet_in_its_store_launch_after_launch) {
  if (torchrun().empty()) GTEST_SKIP() << "no Python with torchrun in .lockstep/libtorch";
  if (allowed_cores().size() < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  ASSERT_EQ(run(torchrun() + " --standalone --nproc-per-node 2 --no-python " + measure("--set measure.repeats=2")), 0)
      << text("err");
  expect_all_rows(result(), "torchrun", true, 2);
  EXPECT_EQ(result()["machine"]["bound_by"], "lockstep");
}

TEST_F(Launchers, torchrun_hears_of_a_failure_once_and_ends) {
  if (torchrun().empty()) GTEST_SKIP() << "no Python with torchrun in .lockstep/libtorch";
  if (allowed_cores().size() < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  // Rank 1 of every launch on two ranks is another program that never joins.
  const std::string runner = file("runner");
  std::ofstream(runner) << "#!/bin/sh\n[ \"$1\" = worker ] && [ \"$RANK\" = 1 ] && kill -9 $$\nexec '"
                        << LOCKSTEP_HWRUNNER << "' \"$@\"\n";
  fs::permissions(runner, fs::perms::owner_all);
  setenv("LOCKSTEP_HWRUNNER", runner.c_str(), 1);
  EXPECT_NE(run(torchrun() + " --standalone --nproc-per-node 2 --no-python " + measure()), 0);
  const json read = result();
  EXPECT_THAT(read["partial"].get<std::string>(), HasSubstr("rank 1 was killed by signal 9"));
  EXPECT_TRUE(read["runs"][3].contains("step_time_s"));
  EXPECT_TRUE(read["runs"][4].contains("not_run"));
}

TEST_F(Launchers, mpirun_binds_ranks_to_cores_and_that_holds) {
  if (!has("mpirun")) GTEST_SKIP() << "mpirun is not there (Debian's openmpi-bin)";
  if (allowed_cores().size() < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  ASSERT_EQ(run("mpirun --allow-run-as-root --oversubscribe --bind-to core -n 2 " + measure()), 0) << text("err");
  const json read = result();
  expect_all_rows(read, "Open MPI", false);
  EXPECT_EQ(read["machine"]["bound_by"], "Open MPI");
  EXPECT_EQ(read["machine"]["pinned"], "yes");
}

TEST_F(Launchers, mpirun_that_binds_nothing_leaves_it_to_us) {
  if (!has("mpirun")) GTEST_SKIP() << "mpirun is not there (Debian's openmpi-bin)";
  if (allowed_cores().size() < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  ASSERT_EQ(run("mpirun --allow-run-as-root --oversubscribe --bind-to none -n 2 " + measure()), 0) << text("err");
  expect_all_rows(result(), "Open MPI", true);
  EXPECT_EQ(result()["machine"]["bound_by"], "lockstep");
  EXPECT_EQ(result()["machine"]["pinned"], "yes");
}

TEST_F(Launchers, srun_starts_ranks_of_one_step) {
  if (allowed_cores().size() < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  const int code = run(std::string("bash " LOCKSTEP_SOURCE_DIR "/tests/hwrunner/with_slurm.sh srun -n 2 ") + measure());
  if (code == 77) GTEST_SKIP() << text("err");
  ASSERT_EQ(code, 0) << text("err");
  expect_all_rows(result(), "Slurm", true);
}

// --- Hosts ---------------------------------------------------------------------------------------------

// "b: offset_s 0.000012000, uncertainty_s 4.1e-05, drift 0"
double number_after(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(name + " ");
  double value = std::nan("");
  if (at != std::string::npos) std::from_chars(text.data() + at + name.size() + 1, text.data() + text.size(), value);
  return value;
}

TEST_F(Launchers, two_hosts_meet_at_a_rendezvous_and_compare_their_clocks) {
  if (allowed_cores().size() < 2) GTEST_SKIP() << "two ranks need two cores, this process may use one";
  std::ofstream(folder_ / "plan.yaml")
      << "model: {mlp: {inputs: 40, hidden: [64], outputs: 10}}\nbatch: {per_gpu: 4}\n"
         "topology: {node: cpu-host, gpus_per_node: 1, fabric: eth-10g}\ngpus: [1, 2]\nstrategy: ddp\n"
         "measure: {steps: 3, warm_up: 2, repeats: 2, timeout: 60s}\n";
  std::ofstream(folder_ / "both.sh") << "#!/bin/bash\nset -eu\n"
                                     << "host() { ip netns exec \"$LOCKSTEP_TESTBED_NAME-$1\" " << measure()
                                     << " --rendezvous 10.77.0.1:29411 --nodes 2 --node-rank \"$1\"; }\n"
                                     << "export LOCKSTEP_HWRUNNER='" << LOCKSTEP_HWRUNNER << "'\n"
                                     << "host 1 >'" << file("other") << "' 2>&1 & other=$!\nhost 0\nwait $other\n";
  const int code =
      run("bash " LOCKSTEP_SOURCE_DIR "/tests/testbed/in_namespaces.sh 2 1gbit bash '" + file("both.sh") + "'");
  if (code == 77) GTEST_SKIP() << text("err");
  ASSERT_EQ(code, 0) << text("err") << text("out") << text("other");
  EXPECT_EQ(text("other"), "");
  const json read = result();
  ASSERT_EQ(read["runs"].size(), 3U);
  EXPECT_TRUE(read["runs"][2].contains("step_time_s")) << read["runs"][2].dump();
  EXPECT_EQ(read["machine"]["network_interface"], "eth0");
  EXPECT_THAT(read["machine"]["hosts"].get<std::string>(), HasSubstr("2 hosts"));
  // One machine has one clock: what is found is not more than what may be wrong with it.
  const std::string clocks = read["machine"]["clocks"];
  EXPECT_LE(std::abs(number_after(clocks, "offset_s")), number_after(clocks, "uncertainty_s") + 1e-9) << clocks;
  EXPECT_EQ(number_after(clocks, "drift"), 0) << clocks;
}

}  // namespace
}  // namespace lockstep
