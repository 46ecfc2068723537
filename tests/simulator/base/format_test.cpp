#include "simulator/base/format.h"

#include <gtest/gtest.h>

#include "simulator/base/error.h"

namespace lockstep {
namespace {

TEST(Format, TimesHaveThreeDigitsAndAFittingUnit) {
  EXPECT_EQ(format_time(0.0561234), "56.1 ms");
  EXPECT_EQ(format_time(1710), "28.5 min");
  EXPECT_EQ(format_time(3.4e-6), "3.4 us");
  EXPECT_EQ(format_time(0.99961), "1.00 s");  // not "1000 ms"
  EXPECT_EQ(format_time(0), "0 s");
  EXPECT_EQ(format_time(1.5), "1.5 s");
  EXPECT_EQ(format_time(90000), "25 h");
  EXPECT_EQ(format_time(864000), "10 days");
  EXPECT_EQ(format_time(2e-10), "0.2 ns");
}

TEST(Format, SizesRatesAndSpeedsNameTheirPowers) {
  EXPECT_EQ(format_bytes(26214400), "25 MiB");
  EXPECT_EQ(format_bytes(102228128), "97.5 MiB");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_rate(25e9), "25 GB/s");
  EXPECT_EQ(format_rate(0), "0 B/s");
  EXPECT_EQ(format_flops(19.5e12), "19.5 TFLOP/s");
  EXPECT_EQ(format_percent(0.96312), "96.3 %");
  EXPECT_EQ(format_factor(2.2249), "2.22x");
  EXPECT_EQ(format_count(25557032), "25 557 032");
  EXPECT_EQ(format_count(-1000), "-1 000");
  EXPECT_EQ(format_count(999), "999");
}

TEST(Format, SignificantDigitsKeepZerosThatWereMeasured) {
  EXPECT_EQ(format_significant(56.0234), "56.0");
  EXPECT_EQ(format_significant(56), "56");
  EXPECT_EQ(format_significant(0.00123456), "0.00123");
  EXPECT_EQ(format_significant(18253), "18300");
  EXPECT_EQ(format_significant(9.996), "10.0");
  EXPECT_EQ(format_significant(-0.5), "-0.5");
  EXPECT_EQ(format_significant(1.23456, 2), "1.2");
}

TEST(Format, CuttingTextKeepsWholeCharacters) {
  EXPECT_EQ(shortened("short", 10), "short");
  EXPECT_EQ(shortened("ab\xc3\xa9z", 3), "ab...");
}

TEST(Format, TextOfOthersIsHarmlessForATerminal) {
  EXPECT_EQ(visible("plain, \xc3\xa9, \xe2\x82\xac, \xf0\x9f\x98\x80"),
            "plain, \xc3\xa9, \xe2\x82\xac, \xf0\x9f\x98\x80");
  EXPECT_EQ(visible("\x1b[2J\x1b]0;title\x07"), "\\x1b[2J\\x1b]0;title\\x07");
  EXPECT_EQ(visible("a\nb\tc\rd\x7f"), "a\\nb\\tc\\rd\\x7f");
  EXPECT_EQ(visible("a\nb\tc\rd", true), "a\nb\tc\\rd");
  EXPECT_EQ(visible("\xc2\x9b"
                    "31m"),
            "\\x9b31m");  // CSI as one character
  EXPECT_EQ(visible("\x9b"
                    "31m \xff"),
            "\\x9b31m \\xff");                                  // and as a byte that is no UTF-8
  EXPECT_EQ(visible("\xe2\x80\xaegnp.exe"), "\\u202egnp.exe");  // right to left
  EXPECT_EQ(visible("\xc0\x8a\xed\xa0\x80\xe2\x82"),
            "\\xc0\\x8a\\xed\\xa0\\x80\\xe2\\x82");  // overlong, surrogate, cut
}

TEST(ErrorText, HasPlaceKeyMessageAndLeavesOutWhatIsEmpty) {
  Error error;
  error.kind = ErrorKind::UnknownKey;
  error.message = "`ddp` has no such key";
  EXPECT_EQ(to_text(error), "`ddp` has no such key");
  error.file = "x.yaml";
  error.line = 3;
  error.column = 7;
  error.key = "ddp.bukcet_cap";
  error.found = "bukcet_cap";
  error.allowed = "`bucket_cap`";
  error.hint = "did you mean `bucket_cap`?";
  EXPECT_EQ(to_text(error),
            "x.yaml:3:7: ddp.bukcet_cap: `ddp` has no such key; found `bukcet_cap`; allowed: `bucket_cap`; "
            "did you mean `bucket_cap`?");
  error.hint = "delete the key";
  EXPECT_NE(to_text(error).find("; try: delete the key"), std::string::npos);
}

TEST(Format, numbers_of_a_column_have_the_same_digits) {
  EXPECT_EQ(format_column(64), "64.0");
  EXPECT_EQ(format_column(74.9123), "74.9");
  EXPECT_EQ(format_column(128), "128");
  EXPECT_EQ(format_column(0), "0");
  EXPECT_EQ(format_factor_column(2), "2.00x");
}

}  // namespace
}  // namespace lockstep
