// Processes that measure as one, with the fake worker as the runner: who they are, how they meet, what one launch over
// all of them says, and every way in which it breaks.
#include "hwrunner/crew/crew.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>

#include "hwrunner/crew/channel.h"
#include "tests/hwrunner/fake.h"

namespace lockstep {
namespace {

using testing::fake_options;
using testing::fake_plan;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::Pids;

template <class T>
std::vector<T> records_of(const RankLog& log) {
  std::vector<T> found;
  for (const Record& record : log.records)
    if (const T* one = std::get_if<T>(&record)) found.push_back(*one);
  return found;
}

CrewPlace place_of(int number, int members, int port) {
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

CrewFacts facts_of(int number) {
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
    EXPECT_THAT(pids_.running(), IsEmpty());
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
  static std::string sentence_of(const LaunchOutcome& outcome) {
    return outcome.failure ? outcome.failure->sentence : "nothing failed";
  }

  Pids pids_;
  Others others_{pids_.folder()};
  int port_ = free_port();
  volatile std::sig_atomic_t stop_ = 0;
};

// --- One launch over all ----------------------------------------------------------------------------

TEST_F(CrewOf, three_runs_every_rank_at_its_place_and_leaves_with_the_code_of_rank_0) {
  auto crew = crew_of(3);
  ASSERT_TRUE(crew);
  EXPECT_EQ(crew->world().in_words(), "3 hosts: host0 (rank 0), host1 (rank 1), host2 (rank 2)");
  for (int launch = 0; launch < 2; ++launch) {
    const LaunchOutcome outcome = crew->launch(fake_plan(Strategy::Ddp, 3), fake_options());
    EXPECT_FALSE(outcome.failure) << outcome.failure->sentence;
    ASSERT_EQ(outcome.ranks.size(), 3U);
    for (const RankLog& log : outcome.ranks) {
      EXPECT_EQ(records_of<RankStepRecord>(log).size(), 8U);
      EXPECT_TRUE(std::holds_alternative<DoneRecord>(log.records.back()));
      EXPECT_GT(log.peak_memory_bytes, 0);
    }
  }
  EXPECT_EQ(pids_.all().size(), 6U);  // fresh processes for each launch
  crew->end(7);
  EXPECT_THAT(others_.codes(), ::testing::ElementsAre(7, 7));
}

TEST_F(CrewOf, three_runs_a_row_of_fewer_ranks_on_the_first_of_them) {
  auto crew = crew_of(3);
  ASSERT_TRUE(crew);
  const LaunchOutcome two = crew->launch(fake_plan(Strategy::Ddp, 2), fake_options());
  EXPECT_FALSE(two.failure) << two.failure->sentence;
  EXPECT_EQ(two.ranks.size(), 2U);
  const LaunchOutcome one = crew->launch(fake_plan(Strategy::Single, 1), fake_options());
  EXPECT_FALSE(one.failure) << one.failure->sentence;
  EXPECT_EQ(pids_.all().size(), 3U);
  const LaunchOutcome four = crew->launch(fake_plan(Strategy::Ddp, 4), fake_options());
  ASSERT_TRUE(four.failure);
  EXPECT_TRUE(four.failure->refused);
  EXPECT_EQ(four.failure->sentence, "tests started 3 ranks");
  crew->end(0);
}

TEST_F(CrewOf, two_processes_with_several_ranks_each_numbers_them_host_by_host) {
  CrewFacts two = facts_of(1);
  two.ranks = 2;
  others_.start(place_of(1, 2, port_), two);
  CrewOptions options;
  CrewFacts mine = facts_of(0);
  mine.ranks = 2;
  auto crew = Crew::assemble(place_of(0, 2, port_), mine, options);
  ASSERT_TRUE(crew);
  EXPECT_EQ((*crew)->world().in_words(), "2 hosts: host0 (ranks 0-1), host1 (ranks 2-3)");
  const LaunchOutcome outcome = (*crew)->launch(fake_plan(Strategy::Ddp, 4), fake_options());
  EXPECT_FALSE(outcome.failure) << outcome.failure->sentence;
  (*crew)->end(0);
}

// --- Clocks -------------------------------------------------------------------------------------------

TEST_F(CrewOf, two_hosts_with_clocks_apart_puts_dates_on_one) {
  const double start_s = host_clock_s();
  auto crew = crew_of(2, [start_s] { return host_clock_s() + 1000 + 0.001 * (host_clock_s() - start_s); });
  ASSERT_TRUE(crew);
  const LaunchOutcome outcome = crew->launch(fake_plan(Strategy::Ddp, 2), fake_options());
  ASSERT_FALSE(outcome.failure) << outcome.failure->sentence;
  const auto clocks = crew->clocks();
  ASSERT_EQ(clocks.size(), 1U);
  EXPECT_EQ(clocks[0].host, "host1");
  // The clock gained a thousandth since start_s: less than half a second in the time that a test may take.
  EXPECT_NEAR(clocks[0].offset.offset_s(), 1000, 0.4 + clocks[0].offset.uncertainty_s());
  EXPECT_LT(clocks[0].offset.uncertainty_s(), 1);
  // The fake ranks' own records are on the true clock, so moving them takes them a thousand seconds back.
  const double end0_s = records_of<RankStepRecord>(outcome.ranks[0]).back().end_s;
  const double end1_s = records_of<RankStepRecord>(outcome.ranks[1]).back().end_s;
  EXPECT_NEAR(end0_s - end1_s, 1000, 2);
  crew->end(0);
}

TEST_F(CrewOf, two_hosts_with_one_clock_finds_no_difference_beyond_the_uncertainty) {
  auto crew = crew_of(2);
  ASSERT_TRUE(crew);
  crew->launch(fake_plan(Strategy::Ddp, 2), fake_options());
  ASSERT_EQ(crew->clocks().size(), 1U);
  EXPECT_LE(std::abs(crew->clocks()[0].offset.offset_s()), crew->clocks()[0].offset.uncertainty_s());
  EXPECT_EQ(crew->clocks()[0].offset.drift(), 0);
  crew->end(0);
}

TEST(Clocks, are_read_by_the_shortest_round_trip_and_are_off_by_half_of_it_at_most) {
  double ours_s = 50, way_s = 0;
  std::vector<double> ways = {0.4, 0.01, 0.3};  // there; back takes no time: the worst that can happen
  std::size_t asked = 0;
  const auto ask = [&]() -> std::optional<double> {
    way_s = ways[asked++];
    ours_s += way_s;
    return ours_s + 1000;
  };
  const auto reading = read_clock(
      ask, [&] { return ours_s; }, 3);
  ASSERT_TRUE(reading);
  EXPECT_NEAR(reading->uncertainty_s, 0.005, 1e-12);
  EXPECT_NEAR(reading->offset_s, 1000.005, 1e-9);
  EXPECT_FALSE(read_clock([]() -> std::optional<double> { return std::nullopt; }, [] { return 0.0; }, 3));
}

TEST(Clocks, drift_between_two_readings_and_dates_follow_the_line) {
  // The other clock: 2 ours + 7.
  const ClockOffset offset({10, 17, 1e-6}, {20, 27, 1e-6});
  EXPECT_NEAR(offset.drift(), 1, 1e-12);
  for (const double ours_s : {10.0, 12.5, 20.0}) EXPECT_NEAR(offset.to_ours(2 * ours_s + 7), ours_s, 1e-12);
  const ClockOffset unsure({10, 17, 1e-3}, {20, 17.001, 1e-3});  // no more than they can tell apart
  EXPECT_EQ(unsure.drift(), 0);
  EXPECT_NEAR(unsure.to_ours(29), 12, 1e-12);
  RankStepRecord step;
  step.end_s = 31;
  step.idle_from_s = 27;
  step.idle_to_s = 29;
  step.parts = {{"forward", 0.5}};
  const auto moved = std::get<RankStepRecord>(on_our_clock(step, offset));
  EXPECT_NEAR(moved.end_s, 12, 1e-12);
  EXPECT_NEAR(*moved.idle_from_s, 10, 1e-12);
  EXPECT_EQ(moved.parts.at("forward"), 0.5);
}

// --- A launch that breaks -------------------------------------------------------------------------------

TEST_F(CrewOf, two_names_rank_and_host_of_one_that_was_killed_and_goes_on) {
  auto crew = crew_of(2);
  ASSERT_TRUE(crew);
  const LaunchOptions options = fake_options("do=kill,rank=1,repeat=0,step=3");
  RunPlan plan = fake_plan(Strategy::Ddp, 2);
  EXPECT_EQ(sentence_of(crew->launch(plan, options)),
            "rank 1 on host1 was killed by signal 9 during step 2 of repeat 1 (ddp, 2 ranks)");
  EXPECT_THAT(pids_.running(), IsEmpty());
  plan.repeat = 1;
  EXPECT_EQ(sentence_of(crew->launch(plan, options)), "nothing failed");
  crew->end(2);
}

TEST_F(CrewOf, two_names_one_that_hangs_stops_fails_or_talks_nonsense) {
  auto crew = crew_of(2);
  const LaunchOptions options = fake_options(
      "do=hang,rank=1,repeat=0,step=3;do=stop,rank=1,repeat=1,step=3;do=oom,rank=1,repeat=2,at=build;"
      "do=garbage,rank=1,repeat=3,step=3;do=hang,rank=1,repeat=4,at=join");
  ASSERT_TRUE(crew);
  const std::vector<std::string> wanted = {
      "rank 1 on host1 said nothing for more than 1.5 s during step 2 of repeat 1 (ddp, 2 ranks)",
      "rank 1 on host1 was stopped by signal 19 and did not go on during step 2 of repeat 2 (ddp, 2 ranks)",
      "rank 1 on host1 failed while building the model for repeat 3 (ddp, 2 ranks): out of memory",
      "rank 1 on host1 sent something that is no record during step 2 of repeat 4 (ddp, 2 ranks): `[W socket.cpp:764] "
      "hello`",
      "rank 1 on host1 said nothing for more than 1.5 s while joining the group of repeat 5 (ddp, 2 ranks)"};
  for (std::size_t repeat = 0; repeat < wanted.size(); ++repeat) {
    RunPlan plan = fake_plan(Strategy::Ddp, 2);
    plan.repeat = static_cast<int>(repeat);
    EXPECT_EQ(sentence_of(crew->launch(plan, options)), wanted[repeat]);
    EXPECT_THAT(pids_.running(), IsEmpty());
  }
  crew->end(2);
}

TEST_F(CrewOf, two_names_the_process_that_was_killed_with_its_rank_and_says_so_again_later) {
  auto crew = crew_of(2);
  ASSERT_TRUE(crew);
  RunPlan plan = fake_plan(Strategy::Ddp, 2);
  plan.steps = 1'000'000;
  LaunchOptions options = fake_options();
  options.on_record = [this](int rank, const Record& record) {
    const auto* step = std::get_if<RankStepRecord>(&record);
    if (rank == 1 && step != nullptr && step->step == 5) kill(others_.pid(0), SIGKILL);
  };
  EXPECT_THAT(
      sentence_of(crew->launch(plan, options)),
      MatchesRegex("rank 1 on host1 failed during step [0-9]+ of repeat 1 \\(ddp, 2 ranks\\): the connection to "
                   "its `lockstep measure` on host1 \\(pid [0-9]+\\) broke"));
  while (!pids_.running().empty()) usleep(2000);  // else the test's own time ends
  EXPECT_THAT(sentence_of(crew->launch(plan, fake_options())), HasSubstr("is gone"));
  crew->end(2);
}

TEST_F(CrewOf, two_gives_up_a_process_that_was_stopped_with_its_rank) {
  auto crew = crew_of(2);
  ASSERT_TRUE(crew);
  RunPlan plan = fake_plan(Strategy::Ddp, 2);
  plan.steps = 1'000'000;
  LaunchOptions options = fake_options();
  options.on_record = [this](int rank, const Record& record) {
    const auto* step = std::get_if<RankStepRecord>(&record);
    if (rank == 1 && step != nullptr && step->step == 5) kill(others_.pid(0), SIGSTOP);
  };
  EXPECT_THAT(sentence_of(crew->launch(plan, options)),
              MatchesRegex("rank 1 on host1 said nothing for more than .* during .*"));
  kill(others_.pid(0), SIGCONT);  // it finds the connection closed and takes its rank along
  EXPECT_THAT(others_.codes(), ::testing::ElementsAre(99));
  EXPECT_THAT(others_.error(0), HasSubstr("rank 0, which leads, is gone"));
  EXPECT_THAT(pids_.running(), IsEmpty());
}

TEST_F(CrewOf, two_that_is_asked_to_stop_ends_all_ranks) {
  auto crew = crew_of(2);
  ASSERT_TRUE(crew);
  RunPlan plan = fake_plan(Strategy::Ddp, 2);
  plan.steps = 1'000'000;
  LaunchOptions options = fake_options();
  options.stop = &stop_;
  options.on_record = [this](int, const Record& record) {
    const auto* step = std::get_if<RankStepRecord>(&record);
    if (step != nullptr && step->step == 10) stop_ = 1;
  };
  const LaunchOutcome outcome = crew->launch(plan, options);
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_FALSE(outcome.failure);
  EXPECT_GE(records_of<RankStepRecord>(outcome.ranks[0]).size(), 10U);
  EXPECT_THAT(pids_.running(), IsEmpty());
  crew->end(130);
  EXPECT_THAT(others_.codes(), ::testing::ElementsAre(130));
}

TEST_F(CrewOf, two_says_that_the_other_has_no_program_to_start) {
  CrewFacts facts = facts_of(1);
  const pid_t child = fork();
  if (child == 0) {
    CrewOptions options;
    options.program = "/nowhere/lockstep-hwrunner";
    const auto code = serve_crew(place_of(1, 2, port_), facts, options);
    _exit(code ? *code : 99);
  }
  auto crew = assembled(2);
  ASSERT_TRUE(crew);
  EXPECT_THAT(sentence_of((*crew)->launch(fake_plan(Strategy::Ddp, 2), fake_options())),
              HasSubstr("No such file or directory"));
  (*crew)->end(2);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

// --- A crew that does not come together -------------------------------------------------------------------

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

// --- Where they meet, and what they may use -----------------------------------------------------------------

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
