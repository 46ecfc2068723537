// No locale changes what is read or printed. A German C locale where the machine has one, and always a C++ locale with
// comma decimals and dots between thousands.
#include <gtest/gtest.h>

#include <clocale>
#include <locale>
#include <sstream>

#include "simulator/base/document.h"
#include "simulator/base/format.h"
#include "simulator/base/quantity.h"

namespace lockstep {
namespace {

struct German : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Locale, ACommaDecimalOneChangesNothing) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new German));
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"})
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  std::ostringstream probe;
  probe << 1234.5;
  ASSERT_EQ(probe.str(), "1.234,5");  // the locale is in force

  EXPECT_EQ(*parse_quantity("1.5GB/s", Unit::BytesPerSecond), 1.5e9);
  EXPECT_FALSE(parse_quantity("1,5GB/s", Unit::BytesPerSecond));
  EXPECT_EQ(quantity_text(1.5e9, Unit::BytesPerSecond), "1.5GB/s");
  EXPECT_EQ(quantity_text(1234.5, Unit::None), "1234.5");
  EXPECT_EQ(format_time(0.0561), "56.1 ms");
  EXPECT_EQ(format_count(1234567), "1 234 567");
  const Expected<Document> document = parse_document("a: 1.5\nb: [1000, 2.5]\n", "x");
  ASSERT_TRUE(document);
  EXPECT_EQ(to_flow_yaml(document->root), "{a: 1.5, b: [1000, 2.5]}");

  std::locale::global(before);
  std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace lockstep
