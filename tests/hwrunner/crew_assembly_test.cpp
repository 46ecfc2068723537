// Processes that are to measure as one and do not come together: who is missing or differs, and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hwrunner/crew/channel.h"
#include "tests/hwrunner/crew_support.h"

namespace lockstep {
namespace {

using testing::CrewOf;
using testing::facts_of;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::place_of;

TEST_F(CrewOf, three_says_who_did_not_come_and_sends_the_others_home) {
  others_.start(place_of(1, 3, port_), facts_of(1));
  EXPECT_THAT(trouble(3, 1.5), HasSubstr("rank 2 of 3 did not come within 1.5 s (tests, port"));
  EXPECT_THAT(others_.codes(), ::testing::ElementsAre(2));
}

TEST_F(CrewOf, processes_that_believe_in_another_number_of_them_are_named) {
  others_.start(place_of(1, 4, port_), facts_of(1));
  EXPECT_THAT(trouble(2), MatchesRegex("rank 1 on host1 \\(pid [0-9]+\\) was started as one of 4, rank 0 on host0 as "
                                       "one of 2\n"));
  EXPECT_THAT(others_.codes(), ::testing::ElementsAre(2));
}

TEST_F(CrewOf, hosts_with_another_scenario_are_named_with_what_differs) {
  CrewFacts other = facts_of(2);
  other.plan["the scenario"] = "3";
  others_.start(place_of(1, 3, port_), facts_of(1));
  others_.start(place_of(2, 3, port_), other);
  EXPECT_THAT(trouble(3), MatchesRegex("rank 2 on host2 \\(pid [0-9]+\\) would measure something else than rank 0 on "
                                       "host0: the scenario differs\n"));
  EXPECT_THAT(others_.codes(), ::testing::ElementsAre(2, 2));
}

TEST_F(CrewOf, two_that_say_they_are_the_same_rank_are_both_named) {
  others_.start(place_of(1, 3, port_), facts_of(1));
  others_.start(place_of(1, 3, port_), facts_of(2));
  EXPECT_THAT(trouble(3), HasSubstr("both say that they are rank 1"));
}

TEST_F(CrewOf, a_process_that_cannot_take_part_says_why_through_rank_0) {
  CrewFacts broken = facts_of(1);
  broken.problem = "the hardware runner was not built";
  others_.start(place_of(1, 2, port_), broken);
  EXPECT_THAT(trouble(2), MatchesRegex("rank 1 on host1 \\(pid [0-9]+\\): the hardware runner was not built\n"));
}

// A port that another service holds.
class Service {
 public:
  Service() : listener_({free_port()}, true) {}
  int port() const { return listener_.port(); }

 private:
  Listener listener_;
};

TEST_F(CrewOf, a_port_that_another_service_holds_is_named) {
  const Service other;
  port_ = other.port();
  EXPECT_THAT(trouble(2), HasSubstr("rank 0 cannot listen on port " + std::to_string(port_) +
                                    ": Address already in "
                                    "use"));
}

TEST_F(CrewOf, the_next_port_is_taken_where_another_service_or_run_holds_the_first) {
  const Service silent;
  CrewPlace first = place_of(0, 2, 0), second = place_of(1, 2, 0);
  first.ports = second.ports = {silent.port(), port_};
  others_.start(second, facts_of(1));
  CrewOptions options;
  options.patience_s = 30;
  auto crew = Crew::assemble(first, facts_of(0), options);
  ASSERT_TRUE(crew) << crew.error().front().message;
  (*crew)->end(0);
  EXPECT_THAT(others_.codes(), ::testing::ElementsAre(0));
}

TEST_F(CrewOf, two_runs_at_one_port_do_not_mix) {
  CrewPlace stranger = place_of(1, 2, port_);
  stranger.token = "another token";
  others_.start(stranger, facts_of(2), host_clock_s, 1);
  others_.start(place_of(1, 2, port_), facts_of(1));
  auto crew = assembled(2);
  ASSERT_TRUE(crew);
  EXPECT_EQ((*crew)->world().hosts.back(), "host1");
  (*crew)->end(0);
  EXPECT_THAT(others_.codes(), ::testing::ElementsAre(99, 0));
  EXPECT_THAT(others_.error(0), HasSubstr("cannot be reached"));
}

TEST_F(CrewOf, none_that_can_be_reached_is_an_error_with_the_reason) {
  CrewOptions options;
  options.patience_s = 0.3;
  const auto refused = serve_crew(place_of(1, 2, port_), facts_of(1), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().kind, ErrorKind::RunFailed);
  EXPECT_EQ(refused.error().front().message, "rank 1 of 2 (tests): rank 0 cannot be reached at 127.0.0.1:" +
                                                 std::to_string(port_) + ": Connection refused");
  CrewPlace nowhere = place_of(1, 2, port_);
  nowhere.address = "no-such-host.invalid";
  const auto unknown = serve_crew(nowhere, facts_of(1), options);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().front().message, HasSubstr("no-such-host.invalid"));
}

}  // namespace
}  // namespace lockstep
