// Rows of the measured tables in tests/data, and the error of a prediction over them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep::testing {

using Row = std::map<std::string, std::string>;        // column -> text
std::vector<Row> read_table(const std::string& file);  // of tests/data; `#` lines skipped
double number(const Row& row, const std::string& column);

// |ln(predicted / measured)| of each row, in per cent.
class LogErrors {
 public:
  void add(double predicted, double measured);
  double mean() const;
  double worst() const;
  std::size_t count() const { return errors_.size(); }
  std::string text() const;  // "2.1 / 7.0 % (21)": mean, worst, rows

 private:
  std::vector<double> errors_;
};

}  // namespace lockstep::testing
