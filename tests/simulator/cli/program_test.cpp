// The program itself: exit codes, streams, signals, and the examples of its help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "simulator/cli/help.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Program : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "lockstep-program-" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A line of the shell, in an empty folder, with the program on the path.
  int shell(const std::string& line) {
    const std::string program = std::filesystem::path(LOCKSTEP_PROGRAM).parent_path().string();
    const std::string whole = "cd '" + folder_ + "' && PATH='" + program +
                              "':$PATH && export PATH && set -o pipefail && { " + line + "; } >out 2>err </dev/null";
    const std::string quoted = "bash -c \"" + escaped(whole) + "\"";
    const int status = std::system(quoted.c_str());
    out_ = text_of(folder_ + "/out");
    err_ = text_of(folder_ + "/err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text)
      result += c == '"' || c == '$' || c == '`' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return result;
  }

  std::string folder_, out_, err_;
};

TEST_F(Program, exit_codes_are_those_of_the_contract) {
  EXPECT_EQ(shell("lockstep predict strong-scaling"), 0);
  EXPECT_EQ(shell("lockstep predict strong-scaling --set gpus=[3,8]"), 0);  // some runs are not_run
  EXPECT_EQ(shell("lockstep predict strong-scaling --set gpus=3"), 2);      // nothing could run
  EXPECT_EQ(shell("lockstep predict strong-scaling --set gpus=0"), 1);
  EXPECT_EQ(shell("lockstep predict"), 1);
  EXPECT_EQ(shell("lockstep"), 1);
  EXPECT_EQ(shell("lockstep sweep x"), 1);
  EXPECT_EQ(shell("lockstep --version"), 0);
  EXPECT_EQ(shell("lockstep predict strong-scaling >/dev/full"), 2);
}

TEST_F(Program, results_go_to_standard_output_and_errors_to_standard_error) {
  shell("lockstep predict strong-scaling --set gpus=8");
  EXPECT_THAT(out_, HasSubstr("strategy"));
  EXPECT_THAT(err_, IsEmpty());
  shell("lockstep predict strong-scaling --set gpus=0");
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_THAT(err_, HasSubstr("gpus"));
}

TEST_F(Program, nothing_is_coloured_off_a_terminal) {
  shell("lockstep predict strong-scaling; lockstep predict nowhere");
  EXPECT_EQ(out_.find('\033'), std::string::npos);
  EXPECT_EQ(err_.find('\033'), std::string::npos);
}

TEST_F(Program, an_interrupt_leaves_with_130) {
  int input[2];
  ASSERT_EQ(pipe(input), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    dup2(input[0], STDIN_FILENO);
    close(input[1]);
    execl(LOCKSTEP_PROGRAM, LOCKSTEP_PROGRAM, "predict", "-", static_cast<char*>(nullptr));
    _exit(127);
  }
  close(input[0]);
  // It reads standard input until the end that never comes: once it has taken this line, it is past its start.
  ASSERT_EQ(write(input[1], "seed: 1\n", 8), 8);
  int unread = 8;
  while (unread > 0) {
    ASSERT_EQ(ioctl(input[1], FIONREAD, &unread), 0);
    usleep(1000);
  }
  int status = 0;
  ASSERT_EQ(kill(child, SIGINT), 0);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  close(input[1]);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
}

TEST_F(Program, every_example_of_the_help_works) {
  // Whether LibTorch is there or not: a runner that only waits.
  setenv("LOCKSTEP_HWRUNNER", LOCKSTEP_FAKE_WORKER, 1);
  int tried = 0;
  for (const CommandHelp& command : command_help()) {
    std::istringstream lines(command.examples);
    for (std::string line; std::getline(lines, line); ++tried) {
      EXPECT_EQ(shell(line), 0) << line << '\n' << err_;
      const bool to_file = line.find(" -o ") != std::string::npos && command.name != "sweep";  // -o is its folder
      EXPECT_EQ(out_.empty(), to_file) << line;
    }
  }
  EXPECT_GE(tried, 10);
}

TEST_F(Program, runs_the_same_from_any_folder_and_with_a_comma_locale) {
  ASSERT_EQ(shell("lockstep predict strong-scaling --csv"), 0);
  const std::string plain = out_;
  ASSERT_EQ(shell("cd / && LC_ALL=de_DE.UTF-8 lockstep predict strong-scaling --csv"), 0);
  EXPECT_EQ(out_, plain);
}

}  // namespace
}  // namespace lockstep
