#include "simulator/result/csv.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/simulator/result/sample_run.h"

namespace lockstep {
namespace {

// A small reader of RFC 4180, so that quoting is checked by its meaning.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"')
        rows.back().back() += c;
      else if (i + 1 < text.size() && text[i + 1] == '"')
        rows.back().back() += text[++i];
      else
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (c == '\n') {
      rows.push_back({""});
    } else {
      rows.back().back() += c;
    }
  }
  rows.pop_back();
  return rows;
}

TEST(ResultCsv, has_swept_keys_first_and_then_the_columns_of_the_contract) {
  const auto rows = read_csv(result_to_csv(testing::full_result()));
  ASSERT_EQ(rows.size(), 3U);
  const std::vector<std::string> start(rows[0].begin(), rows[0].begin() + 14);
  EXPECT_EQ(start, (std::vector<std::string>{"ddp.bucket_cap", "strategy", "implementation", "gpus", "nodes",
                                             "world_size", "per_gpu_batch", "global_batch", "micro_steps",
                                             "step_time_s", "throughput", "throughput_unit", "speedup", "efficiency"}));
  EXPECT_EQ(rows[0][14], "breakdown_s.input");
  EXPECT_EQ(rows[0][14 + kCauseCount], "not_run");
  EXPECT_EQ(rows[0].back(), "fits_memory");
  EXPECT_EQ(rows[0].size(), 14U + kCauseCount + 2);
  EXPECT_EQ(rows[1].back(), "false");
  EXPECT_EQ(rows[2].back(), "");
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
}

TEST(ResultCsv, numbers_keep_every_digit_and_unknown_values_are_empty) {
  const auto rows = read_csv(result_to_csv(testing::full_result()));
  EXPECT_EQ(std::stod(rows[1][9]), 1.0 / 3);
  EXPECT_EQ(rows[1][0], "25MiB");
  EXPECT_EQ(rows[2][9], "");
  EXPECT_EQ(rows[2][8], "");
  EXPECT_EQ(rows[2][3], "16");
}

TEST(ResultCsv, commas_quotes_and_line_ends_in_a_reason_stay_in_one_field) {
  Result result = testing::full_result();
  result.runs[1].not_run = "a, \"b\"\nc";
  EXPECT_EQ(read_csv(result_to_csv(result))[2][14 + kCauseCount], "a, \"b\"\nc");
}

}  // namespace
}  // namespace lockstep
