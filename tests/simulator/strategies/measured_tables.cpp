#include "tests/simulator/strategies/measured_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <numeric>

#include "simulator/base/ensure.h"

namespace lockstep::testing {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

}  // namespace

std::vector<Row> read_table(const std::string& file) {
  std::ifstream in(std::string(LOCKSTEP_SOURCE_DIR "/tests/data/") + file);
  LOCKSTEP_ENSURE(in.good(), "no table {}", file);
  std::vector<std::string> header;
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto cells = cells_of(line);
    if (header.empty()) {
      header = cells;
      continue;
    }
    LOCKSTEP_ENSURE(cells.size() == header.size(), "{}: {} cells in `{}`", file, cells.size(), line);
    Row row;
    for (std::size_t i = 0; i < cells.size(); ++i) row[header[i]] = cells[i];
    rows.push_back(row);
  }
  return rows;
}

double number(const Row& row, const std::string& column) {
  const std::string& text = row.at(column);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  LOCKSTEP_ENSURE(error == std::errc{} && end == text.data() + text.size(), "{}: `{}`", column, text);
  return value;
}

void LogErrors::add(double predicted, double measured) {
  errors_.push_back(100 * std::abs(std::log(predicted / measured)));
}
double LogErrors::mean() const {
  return std::accumulate(errors_.begin(), errors_.end(), 0.0) / static_cast<double>(errors_.size());
}
double LogErrors::worst() const {
  return *std::max_element(errors_.begin(), errors_.end());
}
std::string LogErrors::text() const {
  return fmt::format("{:.1f} / {:.1f} % ({})", mean(), worst(), errors_.size());
}

}  // namespace lockstep::testing
