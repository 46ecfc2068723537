// The program itself: exit codes, streams, signals, and the examples of its help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
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
                              "':$PATH && export PATH && set -o pipefail && { " + line + "\n} >out 2>err </dev/null";
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

// The program, reading standard input until the end that never comes, interrupted there: its standard output.
std::string interrupted(const std::vector<const char*>& words) {
  int input[2], output[2];
  EXPECT_EQ(pipe(input), 0);
  EXPECT_EQ(pipe(output), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(input[0], STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    for (const int end : {input[0], input[1], output[0], output[1]}) close(end);
    std::vector<char*> arguments = {const_cast<char*>(LOCKSTEP_PROGRAM)};
    for (const char* word : words) arguments.push_back(const_cast<char*>(word));
    arguments.push_back(nullptr);
    execv(LOCKSTEP_PROGRAM, arguments.data());
    _exit(127);
  }
  EXPECT_GT(child, 0);
  close(input[0]);
  close(output[1]);
  // Once it has taken this line, it is past its start.
  EXPECT_EQ(write(input[1], "seed: 1\n", 8), 8);
  for (int unread = 8; unread > 0; usleep(1000))
    if (ioctl(input[1], FIONREAD, &unread) != 0) break;
  EXPECT_EQ(kill(child, SIGINT), 0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(output[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(input[1]);
  close(output[0]);
  return text;
}

TEST_F(Program, an_interrupt_leaves_with_130) {
  EXPECT_THAT(interrupted({"predict", "-"}), IsEmpty());
  EXPECT_THAT(interrupted({"predict", "-", "--csv"}), IsEmpty());
}

TEST_F(Program, an_interrupt_leaves_the_one_document_of_json) {
  const auto document = nlohmann::json::parse(interrupted({"predict", "-", "--json"}));
  EXPECT_EQ(document["error"]["kind"], "run_failed");
  EXPECT_EQ(document["error"]["message"], "interrupted");
  EXPECT_EQ(document["errors"].size(), 1U);
}

TEST_F(Program, no_file_can_steer_the_terminal) {
  const std::string evil =
      "question: \"\\e]0;owned\\a \\e[2J \\x9b31m \\u202egnp\"\n"
      "model: resnet18\nbatch: {per_gpu: 8}\ntopology: dgx-a100-80gb\ngpus: 1\n";
  std::ofstream(folder_ + "/good.yaml") << evil;
  std::ofstream(folder_ + "/bad.yaml") << evil << "\"bad\\e[31mkey\": 1\n";
  EXPECT_EQ(shell("lockstep predict bad.yaml"), 1);
  EXPECT_THAT(err_, HasSubstr("bad\\x1b[31mkey"));
  EXPECT_EQ(shell("lockstep predict good.yaml"), 0);
  EXPECT_THAT(out_, HasSubstr("\\x1b]0;owned\\x07 \\x1b[2J \\x9b31m \\u202egnp"));
  EXPECT_EQ(out_.find('\033'), std::string::npos);
  // Read again, what `show` writes is the same text.
  EXPECT_EQ(shell("lockstep show scenario good.yaml >again.yaml && lockstep predict again.yaml --json >again.json && "
                  "lockstep predict good.yaml --json | cmp - again.json"),
            0)
      << err_;
  EXPECT_EQ(text_of(folder_ + "/again.yaml").find('\033'), std::string::npos);
  // Words of the command line, too: here a byte that is no UTF-8.
  EXPECT_EQ(shell("lockstep predict $'\\x9b31m'"), 1);
  EXPECT_THAT(err_, HasSubstr("\\x9b31m: there is no such file"));
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
