// The fingerprint, read from a /proc and /sys of the test's own; and what counts as a disturbance.
#include "hwrunner/measure/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "hwrunner/launch/pinning.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Root : public ::testing::Test {
 protected:
  void SetUp() override { path_ = ::testing::TempDir() + "lockstep-root-" + std::to_string(getpid()); }
  void TearDown() override { std::filesystem::remove_all(path_); }
  void file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + name).parent_path());
    std::ofstream(path_ + name) << text;
  }
  std::string path_;
};

TEST_F(Root, gives_processor_memory_load_and_governor) {
  file("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Some CPU @ 3 GHz\n");
  file("/proc/meminfo", "MemTotal:       16384000 kB\nMemFree: 1 kB\nMemAvailable:   8192000 kB\n");
  file("/proc/loadavg", "1.25 0.50 0.10 2/300 4242\n");
  for (const int core : allowed_cores())
    file("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_governor", "powersave\n");
  const Machine machine = this_machine(path_);
  const auto facts = fingerprint(machine);
  EXPECT_EQ(facts.at("cpu"), "Some CPU @ 3 GHz");
  EXPECT_EQ(facts.at("memory_bytes"), "16777216000");
  EXPECT_EQ(machine.available_bytes, 8388608000);
  EXPECT_EQ(facts.at("load"), "1.25");
  EXPECT_EQ(facts.at("governor"), "powersave");
  EXPECT_EQ(facts.at("cores"), std::to_string(machine.allowed.size()));
  EXPECT_FALSE(facts.at("affinity").empty());
}

TEST_F(Root, that_says_nothing_leaves_facts_out) {
  const auto facts = fingerprint(this_machine(path_));
  EXPECT_EQ(facts.count("cpu"), 0U);
  EXPECT_EQ(facts.count("memory_bytes"), 0U);
  EXPECT_EQ(facts.count("governor"), 0U);
  EXPECT_EQ(interface_facts("eth0", path_).size(), 1U);
  EXPECT_THAT(interface_facts("../x", path_), IsEmpty());
}

TEST_F(Root, counts_hyperthreads_of_a_core_once) {
  const std::string cpus = "/sys/devices/system/cpu/cpu";
  for (const int core : allowed_cores()) {
    file(cpus + std::to_string(core) + "/topology/core_id", "0\n");
    file(cpus + std::to_string(core) + "/topology/physical_package_id", "0\n");
  }
  EXPECT_EQ(this_machine(path_).physical_cores, 1);
}

TEST_F(Root, gives_rate_and_packet_size_of_an_interface) {
  file("/sys/class/net/eth0/speed", "10000\n");
  file("/sys/class/net/eth0/mtu", "1500\n");
  const auto facts = interface_facts("eth0", path_);
  EXPECT_EQ(facts.at("network_rate_mbit_per_s"), "10000");
  EXPECT_EQ(facts.at("network_mtu_bytes"), "1500");
}

TEST_F(Root, counts_busy_and_stolen_time_and_throttling) {
  file("/proc/stat", "cpu  100 20 30 1000 7 4 6 50 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
  file("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n");
  file("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n");
  const CpuCounters counters = cpu_counters(path_);
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(counters.busy_s, 160 / ticks);
  EXPECT_DOUBLE_EQ(counters.stolen_s, 50 / ticks);
  EXPECT_EQ(counters.throttled, 7);
}

TEST(Disturbances, are_none_on_a_quiet_machine) {
  Machine machine;
  machine.cores = machine.physical_cores = 4;
  LaunchLoad load;
  load.wall_s = 10;
  load.own_cpu_s = 20;
  load.after.busy_s = 21;
  load.threads = 4;
  EXPECT_THAT(disturbances(machine, load), IsEmpty());
}

TEST(Disturbances, are_other_programs_the_hypervisor_heat_and_too_many_threads) {
  Machine machine;
  machine.cores = 4;
  machine.physical_cores = 2;
  LaunchLoad load;
  load.wall_s = 10;
  load.own_cpu_s = 20;
  load.before = {100, 5, 7};
  load.after = {130, 9, 8};
  load.threads = 4;
  EXPECT_THAT(disturbances(machine, load), ElementsAre("the machine was busy: other programs took 25 % of its cores",
                                                       "the hypervisor gave 10 % of the cores to others",
                                                       HasSubstr("hot"), "4 threads shared 2 cores"));
}

TEST(Counters, of_this_machine_go_up) {
  const CpuCounters before = cpu_counters();
  volatile double work = 0;
  while (cpu_counters().busy_s <= before.busy_s) work = work + 1;
  EXPECT_GT(cpu_counters().busy_s, before.busy_s);
}

}  // namespace
}  // namespace lockstep
