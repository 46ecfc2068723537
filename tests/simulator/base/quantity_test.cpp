#include "simulator/base/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace lockstep {
namespace {

using testing::HasSubstr;

struct Good {
  const char* text;
  Unit unit;
  double si;
};

class GoodQuantity : public testing::TestWithParam<Good> {};

TEST_P(GoodQuantity, IsReadAsItsSiValue) {
  const Expected<double> value = parse_quantity(GetParam().text, GetParam().unit);
  ASSERT_TRUE(value) << to_text(value.error().front());
  EXPECT_EQ(*value, GetParam().si) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Units, GoodQuantity,
    testing::Values(Good{"25MiB", Unit::Bytes, 26214400}, Good{"80GB", Unit::Bytes, 80e9},
                    Good{"1GiB", Unit::Bytes, 1073741824}, Good{"110kB", Unit::Bytes, 110000},
                    Good{"0B", Unit::Bytes, 0}, Good{"1.5KiB", Unit::Bytes, 1536},
                    Good{"25GB/s", Unit::BytesPerSecond, 25e9}, Good{"200Gb/s", Unit::BytesPerSecond, 25e9},
                    Good{"1Mb/s", Unit::BytesPerSecond, 125000}, Good{"2039 GB/s", Unit::BytesPerSecond, 2039e9},
                    Good{"5us", Unit::Seconds, 5e-6}, Good{"5 us", Unit::Seconds, 5e-6},
                    Good{"30ms", Unit::Seconds, 0.03}, Good{"2s", Unit::Seconds, 2}, Good{"1.5h", Unit::Seconds, 5400},
                    Good{"3 min", Unit::Seconds, 180}, Good{"7ns", Unit::Seconds, 7e-9},
                    Good{"5\xc2\xb5s", Unit::Seconds, 5e-6}, Good{"19.5TFLOP/s", Unit::FlopPerSecond, 19.5e12},
                    Good{"1e3GFLOP/s", Unit::FlopPerSecond, 1e12}, Good{"5%", Unit::Fraction, 0.05},
                    Good{"0.05", Unit::Fraction, 0.05}, Good{"0.1 %", Unit::Fraction, 0.001},
                    Good{"1e-3", Unit::None, 1e-3}, Good{"-2.5", Unit::None, -2.5}, Good{".5", Unit::None, 0.5}));

struct Bad {
  const char* text;
  Unit unit;
  ErrorKind kind;
  const char* message;
  const char* hint;
};

class BadQuantity : public testing::TestWithParam<Bad> {};

TEST_P(BadQuantity, IsRefusedWithTheRightForm) {
  const Expected<double> value = parse_quantity(GetParam().text, GetParam().unit);
  ASSERT_FALSE(value) << *value;
  const Error& error = value.error().front();
  EXPECT_EQ(name_of(error.kind), std::string(name_of(GetParam().kind)));
  EXPECT_EQ(error.message, GetParam().message);
  EXPECT_EQ(error.hint, GetParam().hint);
  EXPECT_EQ(error.found, GetParam().text);
  EXPECT_FALSE(error.allowed.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Units, BadQuantity,
    testing::Values(
        Bad{"25", Unit::Bytes, ErrorKind::Unit, "a size in bytes needs its unit", "for example `25MiB`"},
        Bad{"25GB", Unit::BytesPerSecond, ErrorKind::Unit,
            "`GB` is a size in bytes, not a rate in bytes or bits per second", "for example `25GB/s`"},
        Bad{"5us", Unit::Bytes, ErrorKind::Unit, "`us` is a time, not a size in bytes", "for example `25MiB`"},
        Bad{"200gb/s", Unit::BytesPerSecond, ErrorKind::Unit, "`gb/s` is no unit of a rate in bytes or bits per second",
            "did you mean `200GB/s` (bytes) or `200Gb/s` (bits)?"},
        Bad{"200Gbps", Unit::BytesPerSecond, ErrorKind::Unit, "`Gbps` is no unit of a rate in bytes or bits per second",
            "did you mean `200GB/s` (bytes) or `200Gb/s` (bits)?"},
        Bad{"25mib", Unit::Bytes, ErrorKind::Unit, "`mib` is no unit of a size in bytes", "did you mean `25MiB`?"},
        Bad{"19.5TFLOPS", Unit::FlopPerSecond, ErrorKind::Unit, "`TFLOPS` is no unit of a speed in FLOP/s",
            "did you mean `19.5TFLOP/s`?"},
        Bad{"1,5GB/s", Unit::BytesPerSecond, ErrorKind::Unit,
            "`,5GB/s` is no unit of a rate in bytes or bits per second", "write a decimal point: `1.5GB/s`"},
        Bad{"fast", Unit::BytesPerSecond, ErrorKind::Type, "a rate in bytes or bits per second starts with a number",
            "for example `25GB/s`"},
        Bad{"inf s", Unit::Seconds, ErrorKind::Type, "a time starts with a number", "for example `5us`"},
        Bad{"nan", Unit::Fraction, ErrorKind::Type, "a percentage or a fraction starts with a number",
            "for example `5%`"},
        Bad{"-5us", Unit::Seconds, ErrorKind::Range, "a time cannot be negative", ""},
        Bad{"-5%", Unit::Fraction, ErrorKind::Range, "a percentage or a fraction cannot be negative", ""},
        Bad{"", Unit::Seconds, ErrorKind::Type, "a time starts with a number", "for example `5us`"}));

TEST(Quantity, TooLargeForADoubleIsOutOfRange) {
  for (const char* text : {"1e999s", "1e308h"}) {
    const Expected<double> value = parse_quantity(text, Unit::Seconds);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().front().kind, ErrorKind::Range);
  }
}

TEST(Quantity, BytesAreWholeNumbersUpToInt64) {
  EXPECT_EQ(*parse_bytes("1.5MiB"), 1572864);
  EXPECT_EQ(parse_bytes("0.3B").error().front().kind, ErrorKind::Range);
  EXPECT_EQ(parse_bytes("99999999TB").error().front().kind, ErrorKind::Range);
}

TEST(Quantity, IntegersHaveOneReadingOnly) {
  EXPECT_EQ(*parse_integer("128"), 128);
  EXPECT_EQ(*parse_integer("-1"), -1);
  EXPECT_EQ(*parse_integer("0"), 0);
  const std::pair<const char*, const char*> bad[] = {{"010", "write `10`"},
                                                     {"1e3", "write `1000`"},
                                                     {"128.0", "write `128`"},
                                                     {"1_000", "write the digits without separators"},
                                                     {"1,000", "write the digits without separators"},
                                                     {"0x10", ""},
                                                     {"12.5", ""},
                                                     {"many", ""}};
  for (const auto& [text, hint] : bad) {
    const Expected<std::int64_t> value = parse_integer(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().front().kind, ErrorKind::Type) << text;
    EXPECT_EQ(value.error().front().hint, hint) << text;
  }
  EXPECT_EQ(parse_integer("99999999999999999999").error().front().kind, ErrorKind::Range);
}

TEST(Quantity, ANumberWithAUnitWhereNoneBelongsSaysSo) {
  const Error error = parse_number("5us").error().front();
  EXPECT_EQ(error.kind, ErrorKind::Unit);
  EXPECT_EQ(error.hint, "write `5`");
}

TEST(Quantity, SampleRatesKnowSamplesFromIterations) {
  EXPECT_EQ(*parse_sample_rate("2370img/s"), (SampleRate{2370, false, SampleWord::Images}));
  EXPECT_EQ(*parse_sample_rate("2370 samples/s"), (SampleRate{2370, false}));
  EXPECT_EQ(*parse_sample_rate("12seq/s"), (SampleRate{12, false, SampleWord::Sequences}));
  EXPECT_EQ(*parse_sample_rate("8it/s"), (SampleRate{8, true}));
  EXPECT_EQ(*parse_sample_rate("0.25s/it"), (SampleRate{4, true}));
  EXPECT_EQ(*parse_sample_rate("250 ms/it"), (SampleRate{4, true}));
  EXPECT_EQ(parse_sample_rate("0img/s").error().front().kind, ErrorKind::Range);
  EXPECT_EQ(parse_sample_rate("2370").error().front().kind, ErrorKind::Unit);
  EXPECT_THAT(parse_sample_rate("5us").error().front().allowed, HasSubstr("img/s"));
}

TEST(Quantity, TextIsTheShortestThatReadsBackTheSame) {
  EXPECT_EQ(quantity_text(26214400, Unit::Bytes), "25MiB");
  EXPECT_EQ(quantity_text(80e9, Unit::Bytes), "80GB");
  EXPECT_EQ(quantity_text(25e9, Unit::BytesPerSecond), "25GB/s");
  EXPECT_EQ(quantity_text(5e-6, Unit::Seconds), "5us");
  EXPECT_EQ(quantity_text(0, Unit::Seconds), "0s");
  EXPECT_EQ(quantity_text(19.5e12, Unit::FlopPerSecond), "19.5TFLOP/s");
  EXPECT_EQ(quantity_text(0.05, Unit::Fraction), "5%");
  EXPECT_EQ(quantity_text(1350, Unit::SampleRate), "1350samples/s");
}

TEST(Quantity, AnyValueSurvivesTextAndBack) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-12, 15);
  for (int i = 0; i < 20000; ++i) {
    const double value = std::pow(10.0, exponent(random));
    for (const Unit unit : {Unit::None, Unit::BytesPerSecond, Unit::Seconds, Unit::FlopPerSecond, Unit::Fraction}) {
      const std::string text = quantity_text(value, unit);
      const Expected<double> back = parse_quantity(text, unit);
      ASSERT_TRUE(back) << text;
      ASSERT_EQ(*back, value) << text;
    }
    const auto bytes = static_cast<double>(static_cast<std::int64_t>(value));
    ASSERT_EQ(static_cast<double>(*parse_bytes(quantity_text(bytes, Unit::Bytes))), bytes);
  }
}

}  // namespace
}  // namespace lockstep
