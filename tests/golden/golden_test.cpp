// The shipped scenarios predicted, against the step times kept beside this file, to 1e-12. LOCKSTEP_UPDATE_GOLDEN=1
// (`./lockstep.sh golden --update`) rewrites them and prints old and new.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "simulator/answers/predict.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr double kRelative = 1e-12;
const fs::path kScenarios = fs::path(LOCKSTEP_SOURCE_DIR) / "scenarios";
const fs::path kGolden = fs::path(LOCKSTEP_SOURCE_DIR) / "tests" / "golden";

std::vector<fs::path> scenario_files() {
  std::vector<fs::path> files;
  for (const auto& folder : {kScenarios, kScenarios / "gallery"})
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// Step time of every run by "strategy gpus"; the reason in words of one that cannot run.
Json predicted(const fs::path& file) {
  const auto inputs = load_inputs({text_of(file), file.string(), {}});
  if (!inputs) {
    ADD_FAILURE() << to_text(inputs.error().front());
    return {};
  }
  PredictOptions options;
  options.levers = options.uncertainty = false;
  const auto result = predict(*inputs, options);
  if (!result) {
    ADD_FAILURE() << to_text(result.error().front());
    return {};
  }
  Json runs = Json::object();
  for (const Run& run : result->runs) {
    const std::string key = fmt::format("{} {}", name_of(run.strategy), run.gpus);
    if (run.not_run)
      runs[key] = *run.not_run;
    else
      runs[key] = run.step_time_s;
  }
  return runs;
}

bool same(const Json& a, const Json& b) {
  if (!a.is_number() || !b.is_number()) return a == b;
  const double x = a.get<double>(), y = b.get<double>();
  return std::abs(x - y) <= kRelative * std::abs(y);
}

std::string shown(const Json& value) {
  return value.is_number() ? fmt::format("{:.9f} ms", value.get<double>() * 1e3) : value.dump();
}

// "ddp 8: old -> new" for every run that differs.
std::vector<std::string> differences(const Json& old_runs, const Json& new_runs) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : new_runs.items()) {
    const Json before = old_runs.is_object() && old_runs.contains(key) ? old_runs[key] : Json("none");
    if (same(value, before)) continue;
    std::string line = fmt::format("{}: {} -> {}", key, shown(before), shown(value));
    if (value.is_number() && before.is_number())
      line += fmt::format(" ({:+.3g} %)", (value.get<double>() / before.get<double>() - 1) * 100);
    lines.push_back(line);
  }
  if (old_runs.is_object())
    for (const auto& [key, value] : old_runs.items())
      if (!new_runs.contains(key)) lines.push_back(fmt::format("{}: {} -> none", key, shown(value)));
  return lines;
}

class Golden : public ::testing::TestWithParam<fs::path> {};

TEST_P(Golden, ScenarioKeepsItsStepTimes) {
  const fs::path kept = kGolden / (GetParam().stem().string() + ".json");
  const Json new_runs = predicted(GetParam());
  ASSERT_FALSE(HasFailure());
  const Json old_runs = fs::exists(kept) ? Json::parse(text_of(kept)) : Json();
  const auto changes = differences(old_runs, new_runs);
  if (std::getenv("LOCKSTEP_UPDATE_GOLDEN") == nullptr) {
    ASSERT_FALSE(old_runs.is_null()) << "no golden times yet: ./lockstep.sh golden --update writes them";
    for (const auto& change : changes) ADD_FAILURE() << change;
    return;
  }
  if (changes.empty()) return;
  std::cout << GetParam().stem().string() << "\n";
  for (const auto& change : changes) std::cout << "  " << change << "\n";
  std::ofstream(kept) << new_runs.dump(2) << "\n";
}

INSTANTIATE_TEST_SUITE_P(Shipped, Golden, ::testing::ValuesIn(scenario_files()), [](const auto& file) {
  std::string name = file.param.stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

TEST(GoldenTimes, AreKeptOfShippedScenariosOnly) {
  std::vector<std::string> names;
  for (const auto& file : scenario_files()) names.push_back(file.stem().string());
  for (const auto& entry : fs::directory_iterator(kGolden))
    if (entry.path().extension() == ".json") {
      EXPECT_NE(std::find(names.begin(), names.end(), entry.path().stem().string()), names.end()) << entry.path();
    }
}

}  // namespace
}  // namespace lockstep
