// Input that nobody writes by hand: it must end in an error, soon, and never in a crash.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "scenarios/reader.h"
#include "simulator/base/document.h"

namespace lockstep {
namespace {

constexpr const char* kSmall = "model: resnet50\nbatch: {per_gpu: 128}\ntopology: dgx-a100-80gb\ngpus: [1, 2, 4, 8]\n";

std::string repeated(const std::string& piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

TEST(HostileInput, BinaryIsRefused) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    std::string bytes(1 + random() % 4000, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 256);
    EXPECT_FALSE(read_scenario(bytes, "x"));
  }
}

TEST(HostileInput, DeepHugeAndWideFilesAreRefusedSoon) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(read_scenario(repeated("{a: ", 100000), "x"));
  EXPECT_FALSE(read_scenario(repeated("[", 1000000), "x"));
  EXPECT_FALSE(read_scenario("a: " + repeated("- ", 100000), "x"));
  EXPECT_FALSE(read_scenario(std::string(20'000'000, 'x'), "x"));
  EXPECT_FALSE(read_scenario("gpus: [" + repeated("1, ", 500000) + "1]\n", "x"));
  EXPECT_FALSE(read_scenario(repeated("a.", 100000) + "b: 1\n", "x"));
  EXPECT_FALSE(read_scenario("question: \"" + std::string(1'000'000, 'q') + "\"\n", "x"));
  EXPECT_FALSE(read_scenario(kSmall + std::string("model: ") + std::string(100000, 'r') + "\n", "x"));
  std::string keys;
  for (int i = 0; i < 4000; ++i) keys += "key" + std::to_string(i) + ": 1\n";
  EXPECT_FALSE(read_scenario(keys, "x"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(HostileInput, AnyCutOrFlippedByteOfAGoodFileIsReadOrRefused) {
  const Expected<std::string> good =
      read_text_file(std::string(LOCKSTEP_SOURCE_DIR) + "/scenarios/dp-vs-ddp-resnet50-8xa100.yaml");
  ASSERT_TRUE(good);
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text = *good;
    if (i % 3 == 0) text.resize(random() % text.size());
    for (int flips = 0; flips < 3; ++flips)
      if (!text.empty()) text[random() % text.size()] = "\"'{}[]:,#&*!|>%@-? \t\n0a"[random() % 24];
    const Expected<Scenario> scenario = read_scenario(text, "x.yaml");
    if (scenario) continue;
    ++refused;
    ASSERT_FALSE(scenario.error().empty());
    for (const Error& error : scenario.error()) EXPECT_FALSE(error.message.empty());
  }
  EXPECT_GT(refused, 100);
}

TEST(HostileInput, LargeTextInErrorsIsCut) {
  const Expected<Scenario> scenario =
      read_scenario(kSmall + std::string("precision: ") + std::string(10000, 'p') + "\n", "x");
  ASSERT_FALSE(scenario);
  EXPECT_LT(to_text(scenario.error().front()).size(), 600u);
}

}  // namespace
}  // namespace lockstep
