// Launchers that are already there, by faked variables; and what a rank asks itself before it joins.
#include "hwrunner/launch/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lockstep {
namespace {

using ::testing::HasSubstr;

std::optional<RankPlace> place(const Environment& environment) {
  const auto read = place_from_environment(environment);
  EXPECT_TRUE(read) << (read ? "" : to_text(read.error().front()));
  return read ? *read : std::nullopt;
}
std::string wrong_key(const Environment& environment) {
  const auto read = place_from_environment(environment);
  return read ? "" : read.error().front().key;
}

TEST(Place, of_a_process_alone_is_nothing) {
  EXPECT_FALSE(place({}));
  EXPECT_FALSE(place({{"RANK", "3"}}));                                 // a size is needed too
  EXPECT_FALSE(place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}));  // an interactive shell of Slurm
  EXPECT_FALSE(place({{"RANK", ""}, {"WORLD_SIZE", "2"}}));
}

TEST(Place, under_torchrun_is_a_client_of_the_agents_store) {
  const auto read = place({{"RANK", "3"},
                           {"WORLD_SIZE", "8"},
                           {"LOCAL_RANK", "1"},
                           {"LOCAL_WORLD_SIZE", "2"},
                           {"MASTER_ADDR", "node0"},
                           {"MASTER_PORT", "29400"},
                           {"TORCHELASTIC_RUN_ID", "none"},
                           {"TORCHELASTIC_RESTART_COUNT", "2"},
                           {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  const RankPlace wanted{"torchrun", 3, 8, 1, 2, "node0", 29400, true, "/worker/attempt_2"};
  EXPECT_EQ(read, wanted);
}

TEST(Place, under_open_mpi_derives_the_master_on_one_host_and_demands_it_on_several) {
  Environment environment = {{"OMPI_COMM_WORLD_RANK", "1"},
                             {"OMPI_COMM_WORLD_SIZE", "2"},
                             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_EQ(place(environment), (RankPlace{"Open MPI", 1, 2, 1, 2, "127.0.0.1", 29500, false, ""}));
  environment["OMPI_COMM_WORLD_SIZE"] = "4";
  const auto read = place_from_environment(environment);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().front().key, "MASTER_ADDR");
  EXPECT_THAT(read.error().front().hint, HasSubstr("export MASTER_ADDR"));
  environment["MASTER_ADDR"] = "10.0.0.1";
  EXPECT_EQ(place(environment)->master_address, "10.0.0.1");
}

TEST(Place, under_pmi_and_slurm) {
  EXPECT_EQ(place({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "2"}}),
            (RankPlace{"PMI", 2, 3, 2, 3, "127.0.0.1", 29500, false, ""}));
  EXPECT_EQ(place({{"SLURM_PROCID", "5"},
                   {"SLURM_NTASKS", "8"},
                   {"SLURM_LOCALID", "1"},
                   {"SLURM_STEP_NUM_NODES", "2"},
                   {"SLURM_JOB_NODELIST", "gpu[07-08]"},
                   {"SLURM_JOB_ID", "123456"}}),
            (RankPlace{"Slurm", 5, 8, 1, 4, "gpu07", 20000 + 123456 % 12000, false, ""}));
}

TEST(Place, is_taken_from_the_innermost_launcher) {
  Environment all = {{"RANK", "1"},         {"WORLD_SIZE", "2"},           {"OMPI_COMM_WORLD_RANK", "2"},
                     {"PMI_RANK", "3"},     {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMI_SIZE", "5"},
                     {"SLURM_PROCID", "4"}, {"SLURM_NTASKS", "6"},         {"MASTER_ADDR", "here"}};
  EXPECT_EQ(place(all)->rank, 1);
  all.erase("WORLD_SIZE");
  EXPECT_EQ(place(all)->rank, 2);
  all.erase("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(place(all)->rank, 3);
  all.erase("PMI_RANK");
  EXPECT_EQ(place(all)->rank, 4);
}

TEST(Place, that_makes_no_sense_is_refused_with_the_variable) {
  EXPECT_EQ(wrong_key({{"RANK", "one"}, {"WORLD_SIZE", "2"}}), "RANK");
  EXPECT_EQ(wrong_key({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), "RANK");
  EXPECT_EQ(wrong_key({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), "RANK");
  EXPECT_EQ(wrong_key({{"RANK", "1"}, {"WORLD_SIZE", "0"}}), "WORLD_SIZE");
  EXPECT_EQ(wrong_key({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "80 80"}}), "MASTER_PORT");
  EXPECT_EQ(wrong_key({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "80000"}}), "MASTER_PORT");
}

TEST(Place, with_another_number_of_ranks_than_the_plan_is_a_conflict) {
  RankPlace two;
  two.launcher = "torchrun";
  two.world_size = 2;
  EXPECT_FALSE(wrong_world_size(two, 2));
  const auto error = wrong_world_size(two, 4);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "torchrun started 2 ranks, the scenario asks for 4");
}

TEST(NodeList, gives_its_first_host) {
  EXPECT_EQ(first_host_of("node01"), "node01");
  EXPECT_EQ(first_host_of("a,b[1-2]"), "a");
  EXPECT_EQ(first_host_of("node[03-07,9],x"), "node03");
  EXPECT_EQ(first_host_of("r[1-2]n5"), "r1n5");
  EXPECT_EQ(first_host_of("r[1-2]n[1-4]"), "");
  EXPECT_EQ(first_host_of(""), "");
  EXPECT_EQ(first_host_of("node["), "");
}

TEST(Master, whose_name_does_not_resolve_is_named_before_any_store_times_out) {
  EXPECT_FALSE(unresolved("127.0.0.1"));
  const auto error = unresolved("no-such-host.invalid");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->key, "MASTER_ADDR");
  EXPECT_THAT(error->message, HasSubstr("no-such-host.invalid"));
}

// A port that somebody holds, and its number.
class Held {
 public:
  explicit Held(bool listens) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    if (listens) {
      EXPECT_EQ(::listen(socket_, 4), 0);
    }
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~Held() { ::close(socket_); }
  int port() const { return port_; }

 private:
  int socket_, port_ = 0;
};

TEST(Master, port_held_by_another_service_is_named) {
  const Held held(true);
  const auto error = port_taken(held.port());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "rank 0 cannot listen on port " + std::to_string(held.port()) + ": Address already in use");
}

TEST(Master, is_reached_or_the_reason_is_given) {
  const Held listening(true), silent(false);
  EXPECT_FALSE(unreachable("127.0.0.1", listening.port(), 1));
  const auto error = unreachable("127.0.0.1", silent.port(), 0.1);
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, HasSubstr("Connection refused"));
}

}  // namespace
}  // namespace lockstep
