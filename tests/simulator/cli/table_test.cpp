#include "simulator/cli/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/cli/output.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

TEST(TextTable, columns_are_as_wide_as_their_widest_cell) {
  TextTable table;
  table.column("name", "", Align::Left);
  table.column("step", "ms", Align::Right);
  table.row({"dp", "1234567"});
  table.row({"a long name", "1"});
  EXPECT_THAT(table.header_lines(), ElementsAre("name            step", "                  ms"));
  EXPECT_THAT(table.lines(), ElementsAre("dp           1234567", "a long name        1"));
  EXPECT_EQ(table.width(), 20U);
}

TEST(TextTable, a_reason_runs_over_the_columns_after_it) {
  TextTable table;
  table.column("a", "", Align::Left);
  table.column("b", "", Align::Right);
  table.column("c", "", Align::Right);
  table.row({"x", "not run: a long reason"}, true);
  EXPECT_THAT(table.lines(), ElementsAre("x  not run: a long reason"));
  EXPECT_EQ(table.width(), 7U);
}

TEST(TextTable, a_reason_that_is_too_long_becomes_a_note_and_the_same_reason_the_same_note) {
  TextTable table;
  table.column("a", "", Align::Left);
  table.column("b", "", Align::Right);
  table.row({"x", "not run: a long reason"}, true);
  table.row({"y", "12"});
  table.row({"y", "not run: short"}, true);
  table.row({"z", "not run: a long reason"}, true);
  table.row({"z", "not run: another long reason"}, true);
  const auto fitted = table.fitted(20);
  EXPECT_THAT(fitted.lines,
              ElementsAre("x  not run [1]", "y  12", "y  not run: short", "z  not run [1]", "z  not run [2]"));
  EXPECT_THAT(fitted.notes, ElementsAre("a long reason", "another long reason"));
}

TEST(TextTable, letters_of_several_bytes_count_once) {
  EXPECT_EQ(text_width("größe"), 5U);
}

TEST(Wrapped, keeps_lines_short_and_numbers_with_their_units) {
  EXPECT_EQ(wrapped("one two three", 7, 0), "one two\nthree");
  EXPECT_EQ(wrapped("it is 12 ms", 8, 2), "it is\n  12 ms");
  EXPECT_EQ(wrapped("unbreakable", 4, 0), "unbreakable");
}

}  // namespace
}  // namespace lockstep
