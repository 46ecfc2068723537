// What may follow on a command line, and the scripts that ask for it, run by their shells where those are there.
#include "simulator/cli/completions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "scenarios/fields.h"
#include "simulator/cli/help.h"
#include "tests/simulator/cli/in_process.h"

namespace lockstep {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::lockstep_in_process;
using ::testing::Not;

using Words = std::vector<std::string>;

Completions after(const Words& words) {
  return completions_of(words, command_tree());
}
Words texts(const Words& words) {
  Words all;
  for (const Candidate& one : after(words).candidates) all.push_back(one.text);
  return all;
}

TEST(Completions, the_first_word_is_a_command) {
  Words names;
  for (const CommandHelp& one : command_help()) names.push_back(one.name);
  EXPECT_EQ(texts({""}), names);
  EXPECT_THAT(texts({"sho"}), ElementsAre("show"));
  EXPECT_EQ(after({"sho"}).candidates.front().description, command_tree().find("show")->summary);
  EXPECT_THAT(texts({"--v"}), ElementsAre("--version"));
  EXPECT_THAT(texts({"merge", ""}), IsEmpty());  // comes later
  EXPECT_THAT(texts({"measure", "-", "--backend", ""}), ElementsAre("gloo", "nccl"));
}

TEST(Completions, every_option_of_every_help_is_offered) {
  const std::regex option("(^|[\\s,])(--[a-z_-]+)");
  for (const CommandHelp& command : command_help()) {
    if (command.name == "help") continue;
    std::string help = lockstep_in_process({command.name, "--help"}).out;
    help.erase(help.find("Examples:"));
    Words shown;
    for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at) shown.push_back((*at)[2]);
    EXPECT_FALSE(shown.empty());
    const Words offered = texts({command.name, "--"});
    for (const std::string& one : offered) EXPECT_THAT(shown, Contains(one)) << command.name;
    for (const std::string& one : shown) EXPECT_THAT(offered, Contains(one)) << command.name;
  }
}

TEST(Completions, an_option_is_offered_once_unless_it_may_be_repeated) {
  EXPECT_THAT(texts({"predict", "x", "--json", "--j"}), ElementsAre("--jsonl"));
  EXPECT_THAT(texts({"predict", "x", "-o", "f", "--output"}), IsEmpty());
  EXPECT_THAT(texts({"predict", "x", "--set", "gpus=1", "--se"}), ElementsAre("--set", "--seed"));
}

TEST(Completions, set_offers_every_key_of_the_field_table_and_its_values) {
  const Words keys = texts({"predict", "x", "--set", ""});
  for (const FieldInfo& field : scenario_fields().info().fields) {
    const bool now = field.type != FieldType::Later && field.type != FieldType::Ignored;
    EXPECT_EQ(std::count(keys.begin(), keys.end(), field.key + "="), now ? 1 : 0) << field.key;
  }
  EXPECT_TRUE(after({"predict", "x", "--set", "ddp"}).no_space);
  EXPECT_THAT(texts({"predict", "--set", "strategy="}),
              ElementsAre("strategy=single", "strategy=dp", "strategy=dp-cpp", "strategy=ddp"));
  EXPECT_THAT(texts({"predict", "--set", "ddp.static_graph=t"}), ElementsAre("ddp.static_graph=true"));
  EXPECT_THAT(texts({"predict", "--set", "model=resnet15"}), ElementsAre("model=resnet152"));
  EXPECT_THAT(texts({"predict", "--set", "topology.fabric=o"}), ElementsAre("topology.fabric=own"));
  EXPECT_THAT(texts({"predict", "--set=precision=tf"}), ElementsAre("--set=precision=tf32"));
}

TEST(Completions, for_offers_keys_with_numbers) {
  const Words keys = texts({"solve", "x", "--for", ""});
  EXPECT_THAT(keys, Contains("topology.override.nic.rate"));
  EXPECT_THAT(keys, Contains("gpus"));
  EXPECT_THAT(keys, Not(Contains("model.name")));
  EXPECT_THAT(texts({"solve", "x", "--given", "e"}), ElementsAre("efficiency="));
}

TEST(Completions, arguments_are_names_of_their_kind) {
  EXPECT_THAT(texts({"predict", "strong-scaling", "pcie"}), ElementsAre("pcie-box"));  // several
  EXPECT_TRUE(after({"predict", ""}).files);
  EXPECT_THAT(texts({"sweep", "strong-scaling", "pcie"}), IsEmpty());  // one
  EXPECT_THAT(texts({"list", "g"}), ElementsAre("gpus"));
  EXPECT_THAT(texts({"show", "gpu", "h20"}), ElementsAre("h200"));
  EXPECT_THAT(texts({"show", "fabric", "eth-1g"}), ElementsAre("eth-1g"));
  EXPECT_THAT(texts({"show", "model", "gpt2-x"}), ElementsAre("gpt2-xl"));
  EXPECT_THAT(texts({"show", "topology", "dgx2"}), ElementsAre("dgx2-v100"));
  EXPECT_THAT(texts({"show", "scenario", "pcie"}), ElementsAre("pcie-box"));
  EXPECT_THAT(texts({"validate", "cl"}), ElementsAre("claims"));
  EXPECT_THAT(texts({"help", "swe"}), ElementsAre("sweep"));
  EXPECT_THAT(texts({"completions", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_TRUE(after({"compare", "a.json", ""}).files);
  EXPECT_TRUE(after({"sweep", "x", "-o", ""}).folders);
  EXPECT_TRUE(after({"predict", "x", "--trace", ""}).files);
}

// --- The scripts ---

class Scripts : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "lockstep-completions-" + std::to_string(getpid());
    std::filesystem::create_directories(folder_ + "/results");
    std::ofstream(folder_ + "/a file.json") << "{}";
    for (const char* shell : {"bash", "zsh", "fish"})
      std::ofstream(folder_ + "/script." + shell) << completion_script(shell);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A script of the shell in the folder, with the program on the path: its standard output, line by line.
  Words run(const std::string& shell, const std::string& script) {
    std::ofstream(folder_ + "/test.sh") << script;
    const std::string program = std::filesystem::path(LOCKSTEP_PROGRAM).parent_path().string();
    const std::string line = "cd '" + folder_ + "' && PATH='" + program + "':$PATH HOME='" + folder_ + "' " + shell +
                             " test.sh >out 2>err </dev/null";
    status_ = std::system(line.c_str());
    std::ifstream out(folder_ + "/out"), err(folder_ + "/err");
    err_.assign(std::istreambuf_iterator<char>(err), {});
    Words lines;
    for (std::string one; std::getline(out, one);) lines.push_back(one);
    return lines;
  }
  static bool is_there(const std::string& shell) {
    return std::system(("command -v " + shell + " >/dev/null 2>&1").c_str()) == 0;
  }

  // COMPREPLY for words as bash cuts them.
  Words bash(const std::string& words) {
    return run("bash", "set -u\nsource script.bash\nCOMP_WORDS=(" + words +
                           ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_lockstep lockstep '' ''\n"
                           "printf '%s\\n' \"${COMPREPLY[@]}\"\n");
  }

  std::string folder_, err_;
  int status_ = 0;
};

TEST_F(Scripts, bash_completes_commands_options_keys_values_and_names) {
  EXPECT_THAT(bash("lockstep pre"), ElementsAre("predict")) << err_;
  EXPECT_THAT(bash("lockstep predict --js"), ElementsAre("--json", "--jsonl"));
  EXPECT_THAT(bash("lockstep predict --set stra"), ElementsAre("strategy="));
  EXPECT_THAT(bash("lockstep show gpu h20"), ElementsAre("h200"));
  EXPECT_THAT(bash("lockstep solve x --for topology.override.ni"),
              ElementsAre("topology.override.nic.rate", "topology.override.nic.latency"));
  EXPECT_THAT(err_, IsEmpty());
}

TEST_F(Scripts, bash_hands_back_what_stands_behind_the_equals_sign) {
  EXPECT_THAT(bash("lockstep predict --set strategy ="), ElementsAre("single", "dp", "dp-cpp", "ddp")) << err_;
  EXPECT_THAT(bash("lockstep predict --set strategy = dd"), ElementsAre("ddp"));
  EXPECT_THAT(bash("lockstep predict --set = strategy = dd"), ElementsAre("ddp"));
  EXPECT_THAT(bash("lockstep predict --set strategy = ddp pcie"), ElementsAre("pcie-box"));
}

TEST_F(Scripts, bash_offers_files_and_folders_where_they_may_stand) {
  EXPECT_THAT(bash("lockstep compare a"), ElementsAre("a file.json")) << err_;
  EXPECT_THAT(bash("lockstep sweep strong-scaling -o r"), ElementsAre("results"));
}

TEST_F(Scripts, bash_completes_for_a_program_elsewhere) {
  EXPECT_THAT(bash(std::string(LOCKSTEP_PROGRAM) + " pre"), ElementsAre("predict")) << err_;
  EXPECT_THAT(run("bash", "source script.bash; complete -p lockstep"), ElementsAre("complete -F _lockstep lockstep"));
}

TEST_F(Scripts, zsh_can_read_its_script) {
  if (!is_there("zsh")) GTEST_SKIP() << "zsh is not installed";
  run("zsh -f",
      "zsh -n script.zsh && autoload -Uz compinit && compinit -u -D && source ./script.zsh && "
      "print $_comps[lockstep]");
  EXPECT_EQ(status_, 0) << err_;
  EXPECT_THAT(err_, IsEmpty());
}

TEST_F(Scripts, zsh_hands_the_candidates_to_its_completion) {
  if (!is_there("zsh")) GTEST_SKIP() << "zsh is not installed";
  // The builtins of its completion system work in its line editor only: here they are printed.
  const auto zsh = [&](const std::string& words) {
    return run(
        "zsh -f",
        "compdef() { }; _files() { print files $@ }\n_describe() { print -l ${(P)3}; print -r -- \"${(@)@[4,-1]}\" }\n"
        "source ./script.zsh\nwords=(" +
            words + ")\nCURRENT=$#words\n_lockstep\n");
  };
  EXPECT_THAT(zsh("lockstep pre"), Contains("predict:" + command_tree().find("predict")->summary)) << err_;
  EXPECT_THAT(zsh("lockstep predict --set strategy=d"), ElementsAre("strategy=dp:", "strategy=ddp:", ""));
  EXPECT_THAT(zsh("lockstep predict --set stra"), Contains("-S "));
  EXPECT_THAT(zsh("lockstep sweep x -o ''"), ElementsAre("files -/"));
  EXPECT_THAT(err_, IsEmpty());
}

TEST_F(Scripts, fish_completes_commands_options_keys_values_and_names) {
  if (!is_there("fish")) GTEST_SKIP() << "fish is not installed";
  const auto fish = [&](const std::string& line) {
    return run("fish --no-config", "source script.fish\ncomplete -C '" + line + "' | string replace -r '\\t.*' ''\n");
  };
  EXPECT_THAT(fish("lockstep pre"), ElementsAre("predict")) << err_;
  EXPECT_THAT(fish("lockstep predict --js"), ElementsAre("--json", "--jsonl"));
  EXPECT_THAT(fish("lockstep predict --set strategy=d"), ElementsAre("strategy=dp", "strategy=ddp"));
  EXPECT_THAT(fish("lockstep show gpu h20"), ElementsAre("h200"));
  EXPECT_THAT(fish("lockstep sweep x -o r"), ElementsAre("results/"));
  EXPECT_THAT(fish("lockstep compare a"), Contains(HasSubstr("file.json")));
  EXPECT_THAT(err_, IsEmpty());
}

}  // namespace
}  // namespace lockstep
