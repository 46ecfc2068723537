// The file of a sweep: what is kept, and which folders are refused.
#include "simulator/sweep/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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
  SweepIdentity identity_{"model: x\n", "gpus: [1, 2]\nmodel.name: x\n", "simulate", 2};
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
