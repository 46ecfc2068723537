// Folders that cannot be written: without the right to, and on a full disk.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "simulator/sweep/store.h"
#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using testing::lockstep_in_process;

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(base_);
    std::filesystem::permissions(base_, std::filesystem::perms(0777));
    fill(2);
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::permissions(folder_, std::filesystem::perms(0755), ignored);
    std::filesystem::remove_all(base_);
  }
  void fill(std::size_t points) {
    auto store = SweepStore::open(folder_, identity_);
    ASSERT_TRUE(store.has_value());
    for (std::size_t i = store->size(); i < points; ++i)
      ASSERT_TRUE(store->put({i, "gpus=1", "run", R"({"strategy":"ddp","world_size":1,"point":{}})"}).has_value());
  }
  // Nobody may write the folder or what is in it.
  void forbid_writing() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      std::filesystem::permissions(entry, std::filesystem::perms(0444));
    std::filesystem::permissions(folder_, std::filesystem::perms(0555));
  }
  // What `work` says in a child that has no rights of root.
  std::string as_somebody(const std::function<std::string()>& work) const {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      constexpr unsigned kNobody = 65534;
      if (geteuid() == 0 && (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(9);
      std::ofstream(base_ + "/said") << work();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    std::ifstream said(base_ + "/said");
    return {std::istreambuf_iterator<char>(said), {}};
  }
  static std::string points_of(const Expected<SweepStore>& store) {
    if (!store) return to_text(store.error().front());
    std::string points;
    for (auto point = store->get_from(0); point; point = store->get_from(point->combination + 1))
      points += std::to_string(point->combination) + " ";
    return points;
  }
  bool has_log() const { return std::filesystem::exists(folder_ + "/sweep.sqlite-wal"); }

  std::string base_ = ::testing::TempDir() + "lockstep folder%#?" + std::to_string(getpid());
  std::string folder_ = base_ + "/kept";
  SweepIdentity identity_{"model: x\n", "gpus: [1, 2]\nmodel.name: x\n", "simulate", 2, {"gpus"}};
};

TEST_F(Folder, that_may_not_be_written_is_read) {
  forbid_writing();
  ASSERT_FALSE(has_log());
  EXPECT_EQ(as_somebody([&] { return points_of(SweepStore::open_to_read(folder_)); }), "0 1 ");
  const std::string csv = as_somebody([&] {
    const auto kept = lockstep_in_process({"sweep", "-o", folder_, "--csv"});
    return std::to_string(kept.code) + kept.err + kept.out;
  });
  EXPECT_EQ(csv.substr(0, 9), "0strategy") << csv;
}

TEST_F(Folder, that_may_not_be_written_is_read_while_somebody_adds_to_it) {
  identity_.points = 3;
  std::filesystem::remove_all(folder_);
  auto store = SweepStore::open(folder_, identity_);
  ASSERT_TRUE(store.has_value());
  ASSERT_TRUE(store->put({2, "", "run", "{}"}).has_value());
  ASSERT_TRUE(has_log());
  forbid_writing();
  EXPECT_EQ(as_somebody([&] { return points_of(SweepStore::open_to_read(folder_)); }), "2 ");
}

TEST_F(Folder, that_may_not_be_written_serves_the_same_command_when_nothing_is_missing) {
  forbid_writing();
  EXPECT_EQ(as_somebody([&] { return points_of(SweepStore::open(folder_, identity_)); }), "0 1 ");
  identity_.identity = "gpus: [1, 4]\n";
  EXPECT_THAT(as_somebody([&] { return points_of(SweepStore::open(folder_, identity_)); }),
              HasSubstr("the folder holds the sweep of another scenario"));
}

TEST_F(Folder, that_may_not_be_written_and_lacks_points_says_so) {
  std::filesystem::remove_all(folder_);
  fill(1);
  forbid_writing();
  EXPECT_THAT(as_somebody([&] { return points_of(SweepStore::open(folder_, identity_)); }),
              HasSubstr("the folder cannot be written, and 1 of 2 points are missing"));
}

// The limit on the size of a file stands in for the end of the disk.
TEST_F(Folder, on_a_full_disk_ends_the_sweep_with_2_and_keeps_what_it_has) {
  std::filesystem::remove_all(folder_);
  std::ofstream(base_ + "/x.yaml") << "model: {name: resnet18, image: 32}\nbatch: {per_gpu: 16}\n"
                                      "topology: dgx-a100-80gb\ngpus: 2\nstrategy: ddp\n"
                                      "seed: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]\n"
                                      "noise: {jitter: 5%, runs: 40}\n";
  const std::string command = "bash -c \"cd '" + base_ +
                              "' && trap '' XFSZ && ulimit -f 120 && '" LOCKSTEP_PROGRAM
                              "' sweep x.yaml -o kept --workers 1 --estimate --csv 2>err >out\"";
  const int status = std::system(command.c_str());
  std::ifstream file(base_ + "/err");
  const std::string said{std::istreambuf_iterator<char>(file), {}};
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2) << said;
  EXPECT_THAT(said, HasSubstr("a point cannot be stored: "));
  EXPECT_THAT(said, HasSubstr("`lockstep sweep -o kept` shows what is kept"));
  const auto kept = lockstep_in_process({"sweep", "-o", folder_, "--csv"});
  EXPECT_EQ(kept.code, 0) << kept.err;
  const auto rows = std::count(kept.out.begin(), kept.out.end(), '\n') - 1;
  EXPECT_GE(rows, 1);
  EXPECT_LT(rows, 20);
}

}  // namespace
}  // namespace lockstep
