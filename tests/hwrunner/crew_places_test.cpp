// Where processes meet that measure as one, and which cores each may use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hwrunner/crew_support.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST(MeetingPoint, of_torchrun_lies_beside_its_store_and_keeps_it) {
  RankPlace place{"torchrun", 1, 4, 1, 4, "node0", 29400, true, "/worker/attempt_2"};
  const CrewPlace meeting = meeting_of(place, {{"TORCHELASTIC_RUN_ID", "abc"}});
  EXPECT_EQ(meeting.ports.front(), 29401);
  EXPECT_EQ(meeting.ports.size(), 16U);
  EXPECT_EQ(meeting.store, place);
  EXPECT_THAT(meeting.token, HasSubstr("abc"));
  place.master_port = 65535;
  place.agent_store = false;
  EXPECT_EQ(meeting_of(place, {}).ports[1], 65533);
  EXPECT_FALSE(meeting_of(place, {}).store);
}

TEST(MeetingPoint, of_two_steps_of_one_slurm_job_have_different_tokens) {
  RankPlace place;
  place.launcher = "Slurm";
  EXPECT_NE(meeting_of(place, {{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}}).token,
            meeting_of(place, {{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "1"}}).token);
}

TEST(MeetingPoint, by_rendezvous_is_read_and_what_is_wrong_is_named) {
  const auto good = meeting_of("node01:29400", 2, 1);
  ASSERT_TRUE(good);
  EXPECT_EQ(good->address, "node01");
  EXPECT_EQ(good->ports, (std::vector<int>{29400}));
  EXPECT_EQ(meeting_of("[::1]:80", 2, 0)->address, "::1");
  const auto key = [](const Expected<CrewPlace>& place) { return place ? "" : place.error().front().key; };
  EXPECT_EQ(key(meeting_of("", 2, 0)), "--rendezvous");
  EXPECT_EQ(key(meeting_of("node01:29400", std::nullopt, 0)), "--nodes");
  EXPECT_EQ(key(meeting_of("node01:29400", 2, std::nullopt)), "--node-rank");
  EXPECT_EQ(key(meeting_of("node01:29400", 2, 2)), "--node-rank");
  for (const char* wrong : {"node01", "node01:", ":29400", "node01:99999", "node01:29400x"})
    EXPECT_EQ(key(meeting_of(wrong, 2, 0)), "--rendezvous") << wrong;
}

TEST(TheWorld, gives_out_cores_where_nobody_has_bound_ranks_and_respects_who_has) {
  World world;
  world.launcher = "Open MPI";
  world.hosts = {"a", "b"};
  world.ranks = {{0, {0, 1, 2, 3}}, {0, {0, 1, 2, 3}}, {1, {4}}, {1, {5}}};
  EXPECT_FALSE(world.bound(0));
  EXPECT_TRUE(world.bound(1));
  EXPECT_EQ(world.cores_for(4, 1), (std::vector<std::vector<int>>{{0}, {1}, {}, {}}));
  EXPECT_EQ(world.cores_for(2, 2), (std::vector<std::vector<int>>{{0, 1}, {2, 3}}));
  EXPECT_FALSE(world.too_few_cores(4, 1));
  EXPECT_EQ(world.too_few_cores(3, 2), "Open MPI has bound rank 2 to 1 core, and it needs 2");
  EXPECT_EQ(world.too_few_cores(2, 3), "a has 4 cores for its ranks, and 6 are needed");
  EXPECT_EQ(world.hosts_of(2), 1);
  EXPECT_EQ(world.hosts_of(3), 2);
  EXPECT_EQ(world.in_words(), "2 hosts: a (ranks 0-1), b (ranks 2-3)");
}

}  // namespace
}  // namespace lockstep
