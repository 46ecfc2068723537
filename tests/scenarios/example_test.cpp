// The scenarios that come with lockstep: each is read without error or idle key, asks a question, and survives `show`.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "scenarios/reader.h"
#include "simulator/base/document.h"
#include "topologies/reader.h"

namespace lockstep {
namespace {

std::vector<std::string> example_paths() {
  std::vector<std::string> paths;
  for (const char* folder : {"/scenarios", "/scenarios/gallery"})
    for (const auto& entry : std::filesystem::directory_iterator(std::string(LOCKSTEP_SOURCE_DIR) + folder))
      if (entry.path().extension() == ".yaml") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).stem().string();
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

class Example : public testing::TestWithParam<std::string> {};

TEST_P(Example, IsReadAsksAQuestionAndSurvivesShow) {
  const Expected<ReadScenario> read = read_scenario_file(GetParam());
  ASSERT_TRUE(read) << to_text(read.error().front());
  EXPECT_EQ(read->notes, std::vector<std::string>{});
  ASSERT_FALSE(read->scenario.question.empty());
  EXPECT_EQ(read->scenario.question.back(), '?');
  const Expected<Scenario> again = read_scenario(scenario_yaml(*read), "shown.yaml");
  ASSERT_TRUE(again) << to_text(again.error().front());
  EXPECT_EQ(scenario_yaml(*again), scenario_yaml(read->scenario));
}

TEST_P(Example, RunsOnAMachineThatExists) {
  const Expected<ReadScenario> read = read_scenario_file(GetParam());
  ASSERT_TRUE(read);
  TopologyRequest request;
  request.node = read->scenario.topology_node;
  request.nodes = read->scenario.topology_nodes;
  request.fabric = read->scenario.topology_fabric;
  request.gpus_per_node = read->scenario.gpus_per_node;
  request.overrides = read->scenario.topology_override;
  request.max_gpus = *std::max_element(read->scenario.gpus.begin(), read->scenario.gpus.end());
  const Expected<Topology> topology = load_topology(request);
  EXPECT_TRUE(topology) << to_text(topology.error().front());
}

INSTANTIATE_TEST_SUITE_P(All, Example, testing::ValuesIn(example_paths()), test_name);

TEST(Examples, TheDemoIsTheComparisonOfTheArticle) {
  for (const auto& [name, image] :
       {std::pair{"dp-vs-ddp-resnet50-8xa100", 224}, std::pair{"dp-vs-ddp-resnet50-8xa100-32px", 32}}) {
    const Expected<ReadScenario> read =
        read_scenario_file(std::string(LOCKSTEP_SOURCE_DIR) + "/scenarios/" + name + ".yaml");
    ASSERT_TRUE(read) << to_text(read.error().front());
    const Scenario& s = read->scenario;
    EXPECT_EQ(s.model_name, "resnet50");
    EXPECT_EQ(s.model_options.image, image);
    EXPECT_EQ(s.model_options.classes, 10);
    EXPECT_EQ(s.per_gpu_batch, 128);
    EXPECT_EQ(s.precision, Precision::Fp32);
    EXPECT_EQ(s.topology_node, "dgx-a100-80gb");
    EXPECT_EQ(s.gpus, (std::vector<int>{1, 2, 4, 8}));
    EXPECT_EQ(s.strategies, (std::vector<Strategy>{Strategy::Dp, Strategy::Ddp}));
    EXPECT_EQ(s.input.source, InputSource::Host);
    EXPECT_EQ(s.input.memory, HostMemory::Pageable);
    EXPECT_EQ(s.data_samples, 50000);
    EXPECT_EQ(s.data_epochs, 100);
    EXPECT_EQ(s.torch_version, "2.1");
  }
}

}  // namespace
}  // namespace lockstep
