// Reads a table of tests/data: `#` lines and the header are taken off, fields split at commas (no quoted fields).
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace lockstep::reference {

using Row = std::map<std::string, std::string>;

inline std::vector<std::string> split_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == ',')
      fields.emplace_back();
    else if (c != '\r')
      fields.back() += c;
  }
  return fields;
}

inline std::vector<Row> read_table(const std::string& name) {
  std::ifstream file(std::string(LOCKSTEP_SOURCE_DIR) + "/tests/data/" + name);
  std::vector<std::string> header;
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> fields = split_fields(line);
    if (header.empty()) {
      header = fields;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < header.size(); ++i) row[header[i]] = i < fields.size() ? fields[i] : "";
    rows.push_back(row);
  }
  return rows;
}

inline double number(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}
inline std::int64_t integer(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Errors of predicted / measured: median and 90th percentile (interpolated) of |ratio - 1|, and mean of |ln ratio|,
// which punishes half and double alike.
struct Quantiles {
  double median = 1, p90 = 1, mean_log = 1;
  std::size_t rows = 0;
};
inline Quantiles quantiles(const std::vector<double>& ratios) {
  if (ratios.empty()) return {};
  std::vector<double> errors;
  double sum = 0;
  for (const double ratio : ratios) {
    errors.push_back(std::abs(ratio - 1));
    sum += std::abs(std::log(ratio));
  }
  std::sort(errors.begin(), errors.end());
  const auto at = [&](double share) {
    const double position = share * static_cast<double>(errors.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const double above = errors[std::min(below + 1, errors.size() - 1)];
    return errors[below] + (position - static_cast<double>(below)) * (above - errors[below]);
  };
  return {at(0.5), at(0.9), sum / static_cast<double>(ratios.size()), ratios.size()};
}

}  // namespace lockstep::reference
