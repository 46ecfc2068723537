// Every `$ lockstep ...` line in a code block of README.md and docs/*.md is run as it is printed there, in an empty
// folder with the program on the path, README's own scenario as my.yaml, and `scenarios` as in a clone. Where output is
// printed below the line, it must be that. Exit code 0, or 1 where the output printed is an error. Blocks in which
// something is measured are tried where the hardware runner is built, with fewer steps; what they print is of another
// machine.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = LOCKSTEP_SOURCE_DIR;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Example {
  int line = 0;
  std::string command, output;  // output: as printed; empty where none is
  bool measuring = false;       // in a block that measures something
};

bool is_fence(const std::string& line) {
  return line.rfind("```", 0) == 0;
}

// Of all code blocks of a page.
std::vector<Example> examples_of(const fs::path& page) {
  std::vector<Example> examples;
  std::istringstream lines(text_of(page));
  bool inside = false, ours = false;
  int number = 0;
  std::size_t first = 0;  // of this block
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (is_fence(line)) {
      const auto measures = [](const Example& one) { return one.command.rfind("lockstep measure ", 0) == 0; };
      const auto block = examples.begin() + static_cast<std::ptrdiff_t>(first);
      if (std::any_of(block, examples.end(), measures))
        std::for_each(block, examples.end(), [](Example& one) { one.measuring = true; });
      first = examples.size();
      inside = !inside;
      ours = false;
    } else if (inside && line.rfind("$ ", 0) == 0) {
      ours = line.rfind("$ lockstep ", 0) == 0;
      if (ours) examples.push_back({number, line.substr(2), "", false});
    } else if (ours) {
      examples.back().output += line + '\n';
    }
  }
  return examples;
}

// The first block of YAML.
std::string scenario_of(const fs::path& page) {
  std::istringstream lines(text_of(page));
  std::string yaml;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (inside && is_fence(line)) break;
    if (inside) yaml += line + '\n';
    inside = inside || line == "```yaml";
  }
  return yaml;
}

class Shell {
 public:
  Shell() : folder_(fs::path(::testing::TempDir()) / ("lockstep-examples-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    fs::create_directory_symlink(kSource / "scenarios", folder_ / "scenarios");
    std::ofstream(folder_ / "my.yaml") << scenario_of(kSource / "README.md");
  }
  ~Shell() { fs::remove_all(folder_); }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  // The exit code; `output` holds what it wrote, errors last.
  int run(const std::string& command) {
    std::ofstream(folder_ / ".line") << command << '\n';
    const std::string program = fs::path(LOCKSTEP_PROGRAM).parent_path().string();
    const std::string line =
        "cd '" + folder_.string() + "' && PATH='" + program + "':$PATH bash -o pipefail .line >.out 2>.err </dev/null";
    const int status = std::system(line.c_str());
    output = text_of(folder_ / ".out") + text_of(folder_ / ".err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string output;

 private:
  fs::path folder_;
};

std::vector<std::string> pages() {
  std::vector<std::string> names = {"README.md"};
  for (const auto& entry : fs::directory_iterator(kSource / "docs"))
    if (entry.path().extension() == ".md" && !examples_of(entry.path()).empty())
      names.push_back("docs/" + entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Examples : public ::testing::TestWithParam<std::string> {};

TEST_P(Examples, run_as_printed) {
  const auto examples = examples_of(kSource / GetParam());
  ASSERT_FALSE(examples.empty());
  Shell shell;
  for (const Example& one : examples) {
    if (one.measuring) continue;
    const bool wrong = one.output.rfind("lockstep: ", 0) == 0;
    const std::string where = GetParam() + ":" + std::to_string(one.line) + ": " + one.command;
    EXPECT_EQ(shell.run(one.command), wrong ? 1 : 0) << where << '\n' << shell.output;
    if (!one.output.empty()) {
      EXPECT_EQ(shell.output, one.output) << where;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Docs, Examples, ::testing::ValuesIn(pages()), [](const auto& page) {
  std::string name = fs::path(page.param).stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(MeasuringExamples, run_where_the_runner_is_built) {
  if (!LOCKSTEP_HAS_HWRUNNER) GTEST_SKIP() << "the hardware runner is not built: no LibTorch";
  int tried = 0;
  for (const std::string& page : pages()) {
    Shell shell;
    for (const Example& one : examples_of(kSource / page)) {
      if (!one.measuring) continue;
      std::string command = one.command;
      if (command.rfind("lockstep measure ", 0) == 0)
        command.insert(command.find(" #") == std::string::npos ? command.size() : command.find(" #"),
                       command.find(" --bench ") == std::string::npos
                           ? " --set measure.steps=1 --set measure.warm_up=2 --set measure.repeats=1"
                           : " --budget 3s");
      EXPECT_EQ(shell.run(command), 0) << page << ':' << one.line << ": " << command << '\n' << shell.output;
      ++tried;
    }
  }
  EXPECT_GE(tried, 3);
}

TEST(Readme, its_own_scenario_predicts_with_and_without_the_measured_number) {
  const std::string yaml = scenario_of(kSource / "README.md");
  ASSERT_NE(yaml.find("\n# calibrate:"), std::string::npos) << yaml;
  Shell shell;
  ASSERT_EQ(shell.run("lockstep predict my.yaml"), 0) << shell.output;
  const std::string without = shell.output;
  EXPECT_NE(without.find("Not calibrated"), std::string::npos);
  ASSERT_EQ(shell.run("sed 's/^# //' my.yaml | lockstep predict -"), 0) << shell.output;
  EXPECT_EQ(shell.output.find("Not calibrated"), std::string::npos);
  EXPECT_NE(shell.output, without);
}

TEST(Readme, shows_a_prediction_whole) {
  const auto examples = examples_of(kSource / "README.md");
  const auto shown =
      std::count_if(examples.begin(), examples.end(), [](const Example& one) { return one.output.size() > 1000; });
  EXPECT_GE(shown, 1);
  EXPECT_GE(examples.size(), 5U);
}

}  // namespace
}  // namespace lockstep
