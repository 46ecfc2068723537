// A scenario brought to this machine, on machines made up for the test.
#include "hwrunner/measure/here.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hwrunner/measure/in_world.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Machine machine_of(int cores, double memory_gb = 64) {
  Machine machine;
  machine.cores = machine.physical_cores = cores;
  machine.available_bytes = static_cast<std::int64_t>(memory_gb * 1e9);
  return machine;
}

ScenarioText scenario(const std::string& more = "", std::vector<std::string> sets = {}) {
  return {
      "model: {name: resnet18, image: 32, classes: 10, stem: cifar}\nbatch: {per_gpu: 8}\n"
      "topology: dgx-a100-80gb\ngpus: [1, 2, 4, 8]\nstrategy: [dp, ddp]\n" +
          more,
      "test.yaml", std::move(sets)};
}

Inputs inputs_of(const ScenarioText& text) {
  auto inputs = load_inputs(text);
  EXPECT_TRUE(inputs) << to_text(inputs.error().front());
  return *inputs;
}

TEST(Here, is_the_scenario_on_as_many_ranks_as_there_are_cores) {
  const auto here = resolve_here(scenario(), machine_of(4));
  ASSERT_TRUE(here) << to_text(here.error().front());
  const Inputs inputs = inputs_of(here->text);
  EXPECT_EQ(inputs.scenario().topology_node, "cpu-host");
  EXPECT_EQ(inputs.topology.gpus_per_node, 4);
  EXPECT_THAT(inputs.scenario().gpus, ElementsAre(1, 2, 4));
  EXPECT_EQ(inputs.scenario().per_gpu_batch, 8);
  ASSERT_EQ(here->held_back.size(), 2U);  // dp and ddp on 8
  EXPECT_EQ(here->held_back[1].strategy, Strategy::Ddp);
  EXPECT_EQ(here->held_back[1].gpus, 8);
  EXPECT_EQ(here->held_back[1].reason, "this machine has 4 cores: it holds 4 ranks of 1 thread");
  EXPECT_FALSE(not_this_machine(inputs, machine_of(4), nullptr));
}

TEST(Here, counts_the_threads_of_a_rank) {
  const auto here = resolve_here(scenario("measure: {threads_per_rank: 2}\n"), machine_of(5));
  ASSERT_TRUE(here);
  const Inputs inputs = inputs_of(here->text);
  EXPECT_THAT(inputs.scenario().gpus, ElementsAre(1, 2));
  EXPECT_EQ(inputs.topology.node.gpu.sm_count, 2);  // what predict takes a rank for
  const auto none = resolve_here(scenario("measure: {threads_per_rank: 8}\n"), machine_of(5));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().key, "measure.threads_per_rank");
}

TEST(Here, takes_the_most_it_holds_where_that_is_less_than_all_that_was_asked_for) {
  const auto here = resolve_here(scenario("", {"gpus=8"}), machine_of(2));
  ASSERT_TRUE(here);
  EXPECT_THAT(inputs_of(here->text).scenario().gpus, ElementsAre(2));
  EXPECT_EQ(here->held_back.size(), 2U);
}

TEST(Here, halves_a_batch_that_takes_too_long_or_too_much_memory_but_not_one_that_was_set) {
  const std::string big = "model: resnet50\nbatch: {per_gpu: 128}\ntopology: dgx-a100-80gb\ngpus: [1, 2]\n";
  const auto here = resolve_here({big, "test.yaml", {}}, machine_of(2));
  ASSERT_TRUE(here);
  const auto batch = inputs_of(here->text).scenario().per_gpu_batch;
  EXPECT_LT(*batch, 64);
  EXPECT_THAT(here->notes, ::testing::Contains(HasSubstr("batch.per_gpu is " + std::to_string(*batch))));
  const auto small = resolve_here({big, "test.yaml", {}}, machine_of(2, 4));
  ASSERT_TRUE(small);
  EXPECT_LE(*inputs_of(small->text).scenario().per_gpu_batch, *batch);
  const auto set = resolve_here({big, "test.yaml", {"batch.per_gpu=128"}}, machine_of(2));
  ASSERT_TRUE(set);
  EXPECT_EQ(inputs_of(set->text).scenario().per_gpu_batch, 128);
}

TEST(Here, leaves_what_belongs_to_the_other_machine) {
  const auto here = resolve_here(
      {"model: resnet18\nbatch: {per_gpu: 2}\ngpus: [1, 2]\nprecision: tf32\ncalibrate: {single_gpu: 900img/s}\n"
       "topology: {node: dgx-a100-80gb, fabric: ib-hdr-8x200, override: {nic.rate: 10GB/s}}\n",
       "test.yaml",
       {}},
      machine_of(2));
  ASSERT_TRUE(here) << to_text(here.error().front());
  const Scenario s = inputs_of(here->text).scenario();
  EXPECT_FALSE(s.calibrate_single_gpu);
  EXPECT_EQ(s.precision, Precision::Fp32);
  EXPECT_TRUE(s.topology_override.empty());
  EXPECT_EQ(s.topology_fabric, "");
}

TEST(ThisMachine, is_told_from_others) {
  const auto wrong = [](const std::string& topology, int cores) {
    ScenarioText text = scenario("", {"topology=" + topology, "gpus=[1, 2]"});
    return not_this_machine(inputs_of(text), machine_of(cores), nullptr);
  };
  EXPECT_FALSE(wrong("{node: cpu-host, gpus_per_node: 2}", 2));
  const auto few = wrong("{node: cpu-host, gpus_per_node: 4}", 2);
  ASSERT_TRUE(few);
  EXPECT_EQ(few->key, "topology.node");
  EXPECT_THAT(few->hint, HasSubstr("--here"));
  RunnerProbe probe;
  probe.devices = {"NVIDIA H100 80GB HBM3"};
  const Inputs a100 = inputs_of(scenario()), h100 = inputs_of(scenario("", {"topology=hgx-h100"}));
  EXPECT_THAT(not_this_machine(a100, machine_of(2), &probe)->message, HasSubstr("here is NVIDIA H100"));
  EXPECT_FALSE(not_this_machine(h100, machine_of(2), &probe));
  probe.devices.clear();
  probe.missing = "no NVIDIA driver on this machine";
  EXPECT_THAT(not_this_machine(h100, machine_of(2), &probe)->message, HasSubstr("no NVIDIA driver"));
}

// --- In a world that a launcher started ---------------------------------------------------------------

World two_hosts() {
  World world;
  world.launcher = "Slurm";
  world.hosts = {"a", "b"};
  for (const int host : {0, 0, 1, 1}) world.ranks.push_back({host, {0, 1}});
  return world;
}

TEST(InAWorld, rows_run_where_ranks_hosts_cores_and_devices_suffice) {
  const World world = two_hosts();
  EXPECT_FALSE(why_not_in(world, {Strategy::Single, 1, 1, 1, std::nullopt}));
  EXPECT_FALSE(why_not_in(world, {Strategy::Ddp, 2, 1, 1, std::nullopt}));
  EXPECT_FALSE(why_not_in(world, {Strategy::Ddp, 4, 2, 1, std::nullopt}));
  EXPECT_FALSE(why_not_in(world, {Strategy::Dp, 2, 1, 1, std::nullopt}));
  EXPECT_FALSE(why_not_in(world, {Strategy::Ddp, 4, 2, 0, 2}));
  EXPECT_EQ(why_not_in(world, {Strategy::Ddp, 8, 4, 1, std::nullopt}), "Slurm started 4 ranks");
  EXPECT_EQ(why_not_in(world, {Strategy::Ddp, 4, 1, 1, std::nullopt}),
            "the scenario has 4 GPUs on 1 node, Slurm put its first 4 ranks on 2 hosts");
  EXPECT_EQ(why_not_in(world, {Strategy::Ddp, 4, 2, 2, std::nullopt}), "a has 2 cores for its ranks, and 4 are needed");
  EXPECT_EQ(why_not_in(world, {Strategy::Dp, 4, 1, 1, std::nullopt}), "a has 2 cores for its ranks, and 4 are needed");
  EXPECT_EQ(why_not_in(world, {Strategy::Ddp, 4, 2, 0, 1}), "a has 1 GPU");
}

TEST(InAWorld, the_cores_that_ranks_had_are_those_they_tell) {
  Machine machine;
  machine.host = "a";
  machine.cores = 4;
  const auto facts = [&machine](const std::vector<std::vector<int>>& cores) {
    LaunchOutcome launch;
    for (const auto& mine : cores) {
      HelloRecord hello;
      hello.host = "a";
      hello.cores = mine;
      launch.ranks.emplace_back().records.emplace_back(hello);
    }
    return pinning_facts(launch, machine);
  };
  EXPECT_EQ(facts({{0, 1}, {2, 3}}).at("rank_cores"), "0: 0-1, 1: 2-3");
  EXPECT_EQ(facts({{0, 1}, {2, 3}}).at("pinned"), "yes");
  EXPECT_EQ(facts({{0, 1}, {1, 2}}).at("pinned"), "no");
  EXPECT_EQ(facts({{0, 1, 2, 3}}).at("pinned"), "no");
  EXPECT_TRUE(facts({}).empty());
}

}  // namespace
}  // namespace lockstep
