// The file of a sweep: what is kept, and which folders are refused.
#include "simulator/sweep/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace lockstep {
namespace {

using ::testing::HasSubstr;

class Store : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = ::testing::TempDir() + "lockstep-store-" + std::to_string(getpid()); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string error_of(const Expected<SweepStore>& store) {
    return store ? "no error" : to_text(store.error().front());
  }
  std::string open_with(SweepIdentity identity) { return error_of(SweepStore::open(folder_, identity)); }
  void sql(const std::string& statement) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ + "/sweep.sqlite").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

  std::string folder_;
  SweepIdentity identity_{"model: x\n", "gpus: [1, 2]\nmodel.name: x\n", "simulate", 2, {"gpus"}};
};

TEST_F(Store, keeps_points_for_the_next_time) {
  {
    auto store = SweepStore::open(folder_, identity_);
    ASSERT_TRUE(store.has_value()) << error_of(store);
    EXPECT_TRUE(store->put({1, "gpus=2", "run", R"({"strategy":"ddp"})"}).has_value());
  }
  auto store = SweepStore::open(folder_, identity_);
  ASSERT_TRUE(store.has_value()) << error_of(store);
  EXPECT_EQ(store->size(), 1u);
  EXPECT_FALSE(store->has(0));
  ASSERT_TRUE(store->has(1));
  EXPECT_EQ(store->get(1)->key, "gpus=2");
  EXPECT_EQ(store->get(1)->run, R"({"strategy":"ddp"})");
}

// Nearly all of the child's time is spent in transactions, so that most kills fall into one.
TEST_F(Store, killed_in_the_middle_of_transactions_has_every_point_that_was_stored_and_no_half_one) {
  std::mt19937 random(11);
  std::size_t before = 0;
  const auto text = [](std::size_t n) { return std::string(20'000 + n % 7, static_cast<char>('a' + n % 26)); };
  identity_.points = 1'000'000;
  for (int kill_number = 0; kill_number < 40; ++kill_number) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto store = SweepStore::open(folder_, identity_);
      if (!store) _exit(1);
      for (std::size_t n = store->size(); store->put({n, "n=" + std::to_string(n), "run", text(n)}); ++n)
        if (write(ends[1], &n, sizeof n) != sizeof n) _exit(2);
      _exit(3);
    }
    close(ends[1]);
    std::size_t told = before, last = 0;  // points that the child was told are stored
    const std::size_t wanted = 1 + random() % 20;
    for (std::size_t i = 0; i < wanted && read(ends[0], &last, sizeof last) == sizeof last; ++i) told = last + 1;
    usleep(static_cast<useconds_t>(random() % 500));
    kill(child, SIGKILL);
    while (read(ends[0], &last, sizeof last) == sizeof last) told = last + 1;
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    auto store = SweepStore::open(folder_, identity_);
    ASSERT_TRUE(store.has_value()) << error_of(store);
    ASSERT_GE(store->size(), told);
    ASSERT_LE(store->size(), told + 1);  // the one that the child had no time to speak of
    ASSERT_GT(store->size(), before);
    for (std::size_t n = before; n < store->size(); ++n) ASSERT_EQ(store->get(n)->run, text(n)) << n;
    before = store->size();
  }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((folder_ + "/sweep.sqlite").c_str(), &database), SQLITE_OK);
  std::string said;
  sqlite3_exec(
      database, "PRAGMA integrity_check",
      [](void* to, int, char** columns, char**) {
        *static_cast<std::string*>(to) += columns[0];
        return 0;
      },
      &said, nullptr);
  sqlite3_close(database);
  EXPECT_EQ(said, "ok");
}

TEST_F(Store, refuses_a_point_that_it_has) {
  auto store = SweepStore::open("", identity_);
  ASSERT_TRUE(store.has_value());
  EXPECT_TRUE(store->put({0, "", "run", "{}"}).has_value());
  EXPECT_FALSE(store->put({0, "", "run", "{}"}).has_value());
}

TEST_F(Store, forgets_points_whose_simulation_died_so_that_they_are_tried_again) {
  {
    auto store = SweepStore::open(folder_, identity_);
    ASSERT_TRUE(store.has_value());
    EXPECT_TRUE(store->put({0, "", "failed", "{}"}).has_value());
    EXPECT_TRUE(store->put({1, "", "not_run", "{}"}).has_value());
  }
  auto store = SweepStore::open(folder_, identity_);
  ASSERT_TRUE(store.has_value());
  EXPECT_FALSE(store->has(0));
  EXPECT_TRUE(store->has(1));
}

TEST_F(Store, refuses_another_sweep_another_way_and_another_version) {
  ASSERT_TRUE(SweepStore::open(folder_, identity_).has_value());
  SweepIdentity other = identity_;
  other.identity = "gpus: [1, 2]\nmodel.name: y\n";
  EXPECT_THAT(open_with(other),
              HasSubstr("the sweep of another scenario: `model.name: x` there, `model.name: y` here"));
  other = identity_;
  other.method = "estimate";
  EXPECT_THAT(open_with(other), HasSubstr("made by `simulate`, these would be by `estimate`"));
  sql("UPDATE meta SET value = '0.0.9' WHERE key = 'lockstep_version'");
  EXPECT_THAT(open_with(identity_), HasSubstr("begun by lockstep 0.0.9"));
  sql("UPDATE meta SET value = '2' WHERE key = 'format_version'");
  EXPECT_THAT(open_with(identity_), HasSubstr("format_version 2"));
}

TEST_F(Store, refuses_what_is_no_sweep) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ + "/sweep.sqlite")
      << "this is text, long enough to be taken for the header of a database file\n";
  EXPECT_THAT(open_with(identity_), HasSubstr("not a database"));
  std::filesystem::remove_all(folder_);
  std::ofstream(folder_) << "a file\n";
  EXPECT_THAT(open_with(identity_), HasSubstr("no folder can be made here"));
}

TEST_F(Store, lets_one_process_at_a_time_add_points) {
  auto store = SweepStore::open(folder_, identity_);
  ASSERT_TRUE(store.has_value());
  EXPECT_THAT(open_with(identity_), HasSubstr("another lockstep is sweeping into this folder"));
}

}  // namespace
}  // namespace lockstep
