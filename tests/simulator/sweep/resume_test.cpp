// A sweep that was stopped, or killed at any moment, goes on and ends with the bits of one that was left alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace lockstep {
namespace {

using ::testing::HasSubstr;

struct Ended {
  int status = 0;
  std::string out, err;
  int code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
};

class Resume : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "lockstep-resume-" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/x.yaml") << "model: {name: resnet18, image: 32}\nbatch: {per_gpu: [16, 32, 64]}\n"
                                          "topology: dgx-a100-80gb\ngpus: [2, 4, 8]\nstrategy: [dp, ddp]\n"
                                          "seed: [1, 2, 3, 4]\nnoise: {jitter: 5%, runs: 40}\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The program on x.yaml with its streams in files of the folder.
  pid_t start(const std::string& into, const std::vector<std::string>& more = {}) {
    std::fflush(nullptr);  // else the child would write it once more
    const pid_t child = fork();
    if (child != 0) return child;
    std::vector<std::string> words = {LOCKSTEP_PROGRAM,     "sweep", folder_ + "/x.yaml", "-o",
                                      folder_ + "/" + into, "--csv"};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (freopen((folder_ + "/out").c_str(), "w", stdout) == nullptr ||
        freopen((folder_ + "/err").c_str(), "w", stderr) == nullptr)
      _exit(126);
    execv(LOCKSTEP_PROGRAM, arguments.data());
    _exit(127);
  }
  Ended end_of(pid_t child) {
    Ended ended;
    EXPECT_EQ(waitpid(child, &ended.status, 0), child);
    ended.out = text_of("out");
    ended.err = text_of("err");
    return ended;
  }
  std::string text_of(const std::string& name) {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Every row of the store, in order; empty while there is no table.
  std::vector<std::string> rows(const std::string& into) {
    std::vector<std::string> found;
    sqlite3* database = nullptr;
    sqlite3_open_v2((folder_ + "/" + into + "/sweep.sqlite").c_str(), &database, SQLITE_OPEN_READWRITE, nullptr);
    sqlite3_busy_timeout(database, 5000);
    sqlite3_exec(
        database, "SELECT combination || ' ' || key || ' ' || state || ' ' || run FROM points ORDER BY combination",
        [](void* all, int, char** columns, char**) {
          static_cast<std::vector<std::string>*>(all)->push_back(columns[0]);
          return 0;
        },
        &found, nullptr);
    sqlite3_close(database);
    return found;
  }
  // Until there are so many, or the program ended.
  std::size_t wait_for_points(const std::string& into, std::size_t least, pid_t program) {
    siginfo_t ended{};
    for (int i = 0; i < 30'000 && rows(into).size() < least; ++i) {
      waitid(P_PID, static_cast<id_t>(program), &ended, WEXITED | WNOHANG | WNOWAIT);
      if (ended.si_pid == program) break;
      usleep(500);
    }
    return rows(into).size();
  }

  std::string folder_;
};

constexpr std::size_t kPoints = 72;

TEST_F(Resume, killed_at_random_moments_it_ends_with_the_bits_of_an_undisturbed_one) {
  const Ended undisturbed = end_of(start("a"));
  ASSERT_EQ(undisturbed.code(), 0) << undisturbed.err;
  const auto expected = rows("a");
  ASSERT_EQ(expected.size(), kPoints);

  std::mt19937 random(7);
  std::vector<std::string> before;
  int killed = 0, killed_half_way = 0;
  Ended last;
  for (int tries = 0; tries < 200; ++tries) {
    const pid_t child = start("b", {"--workers", "2"});
    // At any time, also before there is a file; and some time after so many more points.
    if (tries % 2 == 0)
      usleep(static_cast<useconds_t>(5'000 + random() % 60'000));
    else
      wait_for_points("b", before.size() + 1 + random() % 4, child);
    usleep(static_cast<useconds_t>(random() % 5'000));
    kill(child, SIGKILL);
    last = end_of(child);
    if (WIFEXITED(last.status)) break;
    ++killed;
    const auto now = rows("b");
    killed_half_way += now.size() > before.size() && now.size() < kPoints ? 1 : 0;
    ASSERT_GE(now.size(), before.size());  // nothing is lost
    before = now;
  }
  if (!WIFEXITED(last.status)) last = end_of(start("b"));
  EXPECT_EQ(last.code(), 0) << last.err;  // a point stored twice would be an error of the store
  EXPECT_GE(killed, 4);
  EXPECT_GE(killed_half_way, 2);
  EXPECT_EQ(rows("b"), expected);
  EXPECT_EQ(last.out, undisturbed.out);
}

TEST_F(Resume, ctrl_c_keeps_what_is_done_and_leaves_with_130) {
  const pid_t child = start("c", {"--workers", "1"});
  ASSERT_GE(wait_for_points("c", 3, child), 3u);
  kill(child, SIGINT);
  const Ended stopped = end_of(child);
  EXPECT_EQ(stopped.code(), 130);
  const std::size_t kept = rows("c").size();
  EXPECT_GE(kept, 3u);
  EXPECT_LT(kept, kPoints);
  EXPECT_THAT(stopped.err, HasSubstr("stopped; " + std::to_string(kept) + " of 72 points are kept in"));
  const Ended rest = end_of(start("c"));
  EXPECT_EQ(rest.code(), 0) << rest.err;
  const Ended undisturbed = end_of(start("d"));
  EXPECT_EQ(rest.out, undisturbed.out);
  EXPECT_EQ(rows("c"), rows("d"));
}

TEST_F(Resume, sigterm_stops_as_cleanly) {
  const pid_t child = start("t", {"--workers", "1"});
  ASSERT_GE(wait_for_points("t", 1, child), 1u);
  kill(child, SIGTERM);
  EXPECT_EQ(end_of(child).code(), 143);
  EXPECT_GE(rows("t").size(), 1u);
}

TEST_F(Resume, what_is_there_is_read_and_not_computed_again) {
  ASSERT_EQ(end_of(start("e")).code(), 0);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((folder_ + "/e/sweep.sqlite").c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database,
                         "UPDATE points SET run = json_set(run, '$.speedup', 1234.5) WHERE combination = 7;"
                         "DELETE FROM points WHERE combination = 9;",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  const Ended again = end_of(start("e"));
  EXPECT_EQ(again.code(), 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr(",1234.5,"));
  EXPECT_EQ(rows("e").size(), kPoints);
}

TEST_F(Resume, a_folder_with_another_sweep_is_refused) {
  ASSERT_EQ(end_of(start("f")).code(), 0);
  const Ended other = end_of(start("f", {"--set", "model.image=64"}));
  EXPECT_EQ(other.code(), 1);
  EXPECT_THAT(other.err, HasSubstr("another scenario: `model.image: 32` there, `model.image: 64` here"));
  const Ended longer = end_of(start("f", {"--set", "gpus=[2,4]"}));
  EXPECT_EQ(longer.code(), 1);
  EXPECT_THAT(longer.err, HasSubstr("gpus: [2, 4, 8]"));
}

}  // namespace
}  // namespace lockstep
