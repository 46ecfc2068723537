// Who may include whom. Links are checked by CMake (simulator/layers.cmake); all libraries share one include root, so
// includes need a test of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <utility>

#include "tests/laws_of_layers/include_graph.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kCoreFolders = {"simulator", "models", "topologies", "scenarios"};

const IncludeGraph& core_graph() {
  static const IncludeGraph graph(LOCKSTEP_SOURCE_DIR, kCoreFolders);
  return graph;
}

// Folders in the order of the arrows (docs: the target list of simulator/layers.cmake); the first match counts.
int rank_of(std::string_view path) {
  static const std::vector<std::pair<std::string_view, int>> ranks = {{"simulator/base", 0},
                                                                      {"models", 1},
                                                                      {"topologies", 1},
                                                                      {"scenarios", 2},
                                                                      {"simulator/result", 3},
                                                                      {"simulator/costs", 4},
                                                                      {"simulator/steps", 4},
                                                                      {"simulator/strategies", 4},
                                                                      {"simulator/collectives", 4},
                                                                      {"simulator/estimate", 5},
                                                                      {"simulator/engine", 5},
                                                                      {"hwrunner/crew", 7},
                                                                      {"hwrunner/launch", 5},
                                                                      {"hwrunner/measure", 7},
                                                                      {"simulator/exchange", 6},
                                                                      {"simulator/calibration", 7},
                                                                      {"simulator/answers", 7},
                                                                      {"simulator/sweep", 7},
                                                                      {"simulator/cli", 8}};
  for (const auto& [folder, rank] : ranks) {
    if (is_below(path, folder)) {
      return rank;
    }
  }
  return -1;
}

TEST(HeaderReach, TheTreeIsReallyRead) {
  EXPECT_GT(core_graph().includes().size(), 20U);
  ASSERT_TRUE(core_graph().includes().contains("simulator/base/error.h"));
}

TEST(HeaderReach, NoTorchOrQtHeaderIsReachableFromTheCore) {
  for (const std::string& folder : kCoreFolders) {
    EXPECT_THAT(core_graph().chains(folder, is_torch_header), IsEmpty());
    EXPECT_THAT(core_graph().chains(folder, is_qt_header), IsEmpty());
  }
}

// launch and measure have no LibTorch and lie in the row of the core.
TEST(HeaderReach, TheCoreKnowsNothingOfTheHardwareRunner) {
  const auto is_runner = [](std::string_view header) { return is_below(header, "hwrunner") && rank_of(header) < 0; };
  for (const std::string& folder : kCoreFolders) EXPECT_THAT(core_graph().chains(folder, is_runner), IsEmpty());
}

TEST(HeaderReach, OnlyHeadersNamedTorchOfTheHardwareRunnerReachLibTorch) {
  const IncludeGraph runner(LOCKSTEP_SOURCE_DIR, {"hwrunner"});
  ASSERT_GT(runner.includes().size(), 10U);
  for (const std::string& chain : runner.chains("hwrunner", is_torch_header)) {
    const std::string from = fs::path(chain.substr(0, chain.find(' '))).filename().string();
    EXPECT_TRUE(from.ends_with(".cpp") || from.starts_with("torch_")) << chain;
  }
}

TEST(HeaderReach, TheHardwareRunnerUsesOnlyWhatLiesToItsLeft) {
  const IncludeGraph runner(LOCKSTEP_SOURCE_DIR, {"hwrunner"});
  for (const auto& [file, headers] : runner.includes()) {
    if (is_below(file, "hwrunner/crew") || is_below(file, "hwrunner/measure") || is_below(file, "hwrunner/program"))
      continue;
    for (const std::string& header : headers) {
      const int rank = rank_of(header);  // -1: its own, LibTorch's, the system's
      EXPECT_LE(rank, rank_of("simulator/estimate/estimate.h")) << file << " includes " << header;
      EXPECT_FALSE(is_below(header, "simulator/engine")) << file << " includes " << header;
    }
  }
}

// The window estimates by the answers and runs `lockstep` for all else.
TEST(HeaderReach, TheWindowIncludesNoEngineNoCommandLineAndNoHardwareRunner) {
  const IncludeGraph window(LOCKSTEP_SOURCE_DIR, {"gui"});
  ASSERT_GT(window.includes().size(), 20U);
  for (const auto& [file, headers] : window.includes()) {
    for (const std::string& header : headers) {
      for (const char* folder : {"simulator/engine", "simulator/sweep", "simulator/cli", "hwrunner"}) {
        EXPECT_FALSE(is_below(header, folder)) << file << " includes " << header;
      }
      EXPECT_FALSE(is_torch_header(header)) << file << " includes " << header;
    }
  }
}

TEST(HeaderReach, TheHardwareRunnerIncludesNoQt) {
  const IncludeGraph runner(LOCKSTEP_SOURCE_DIR, {"hwrunner"});
  EXPECT_THAT(runner.chains("hwrunner", is_qt_header), IsEmpty());
}

TEST(HeaderReach, SimGridHeadersAreIncludedOnlyByTheSimGridFilesOfTheEngine) {
  const IncludeGraph everything(LOCKSTEP_SOURCE_DIR,
                                {"simulator", "models", "topologies", "scenarios", "hwrunner", "gui"});
  for (const auto& [file, headers] : everything.includes()) {
    for (const std::string& header : headers) {
      if (is_simgrid_header(header)) {
        EXPECT_TRUE(file.starts_with("simulator/engine/simgrid_")) << file << " includes " << header;
      }
    }
  }
}

TEST(HeaderReach, SimGridStaysBehindTheHeadersOfTheEngine) {
  for (const std::string& chain : core_graph().chains("simulator", is_simgrid_header)) {
    EXPECT_TRUE(chain.starts_with("simulator/engine/")) << chain;
  }
}

TEST(HeaderReach, TheEstimateKnowsNothingOfTheEngine) {
  const auto is_engine = [](std::string_view header) { return is_below(header, "simulator/engine"); };
  EXPECT_THAT(core_graph().chains("simulator/estimate", is_engine), IsEmpty());
}

TEST(HeaderReach, NoFileIncludesAHeaderToItsRight) {
  for (const auto& [file, headers] : core_graph().includes()) {
    ASSERT_NE(rank_of(file), -1) << file << " lies in a folder that has no place in the order";
    for (const std::string& header : headers) {
      EXPECT_LE(rank_of(header), rank_of(file)) << file << " includes " << header;
    }
  }
}

TEST(HeaderReach, TheSlowCommandLineHeaderIsIncludedByTheCommandLineOnly) {
  for (const auto& [file, headers] : core_graph().includes()) {
    for (const std::string& header : headers) {
      EXPECT_TRUE(!header.starts_with("CLI/") || is_below(file, "simulator/cli")) << file << " includes " << header;
    }
  }
}

TEST(HeaderReach, TestsAndDataOfOtherPlacesAreNotIncludedByTheCore) {
  for (const auto& [file, headers] : core_graph().includes()) {
    for (const std::string& header : headers) {
      EXPECT_FALSE(is_below(header, "tests") || header.starts_with("/") || header.find("..") != std::string::npos)
          << file << " includes " << header;
    }
  }
}

// The finder itself: in a small tree it must find what is forbidden, also around a corner and beside the includer.
TEST(HeaderReach, AForbiddenHeaderTwoIncludesAwayIsFound) {
  const fs::path tree = fs::temp_directory_path() / ("lockstep_include_graph_" + std::to_string(getpid()));
  fs::create_directories(tree / "simulator" / "answers");
  std::ofstream(tree / "simulator" / "a.cpp") << "#include \"simulator/b.h\"\n#include <vector>\n";
  std::ofstream(tree / "simulator" / "b.h") << "  #  include \"answers/c.h\"  // beside\n";
  std::ofstream(tree / "simulator" / "answers" / "c.h")
      << "#pragma once\n#include <torch/torch.h>\n// #include <QWidget>\n";
  const IncludeGraph graph(tree, {"simulator", "not_there"});
  fs::remove_all(tree);
  EXPECT_THAT(
      graph.chains("simulator", is_torch_header),
      ElementsAre("simulator/a.cpp > simulator/b.h > simulator/answers/c.h > torch/torch.h",
                  "simulator/answers/c.h > torch/torch.h", "simulator/b.h > simulator/answers/c.h > torch/torch.h"));
  EXPECT_THAT(graph.chains("simulator", is_qt_header), IsEmpty());
}

TEST(HeaderReach, HeadersOfForeignLibrariesAreRecognised) {
  EXPECT_TRUE(is_torch_header("torch/csrc/api/include/torch/torch.h"));
  EXPECT_TRUE(is_torch_header("c10/util/Half.h"));
  EXPECT_FALSE(is_torch_header("simulator/strategies/ddp.h"));
  EXPECT_TRUE(is_qt_header("QtCharts/QLineSeries"));
  EXPECT_TRUE(is_qt_header("QWidget"));
  EXPECT_FALSE(is_qt_header("Quantity.h"));
  EXPECT_TRUE(is_simgrid_header("simgrid/s4u.hpp"));
  EXPECT_FALSE(is_simgrid_header("simulator/engine/simgrid_network.h"));
}

#ifdef LOCKSTEP_NINJA_DEPS
// What the compiler opened for each object file of the core, as ninja keeps it: catches headers that a library of
// the system drags in.
TEST(HeaderReach, TheCompilerOpenedNoTorchOrQtFileAndSimGridOnlyInTheEngine) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(LOCKSTEP_NINJA_DEPS, "r"), pclose);
  ASSERT_NE(pipe, nullptr);
  std::array<char, 4096> buffer{};
  std::string object;
  int objects = 0;
  while (std::fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) {
    const std::string_view line(buffer.data());
    if (!line.starts_with("    ")) {
      object = line.substr(0, line.find(':'));
      objects += object.starts_with("simulator/") ? 1 : 0;
      continue;
    }
    if (object.starts_with("tests/") || object.starts_with("gui/") || object.starts_with("hwrunner/")) {
      continue;
    }
    EXPECT_EQ(line.find("/torch/csrc/"), std::string_view::npos) << object << " opened " << line;
    EXPECT_EQ(line.find("/qt6/Qt"), std::string_view::npos) << object << " opened " << line;
    if (line.find("/include/simgrid/") != std::string_view::npos) {
      EXPECT_TRUE(object.starts_with("simulator/engine/")) << object << " opened " << line;
    }
  }
  EXPECT_GT(objects, 10);
}
#endif

}  // namespace
}  // namespace lockstep::testing
