// A table of text: columns as wide as their widest cell, two spaces between them, units in the header.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

enum class Align { Left, Right };

class TextTable {
 public:
  // `title` and `unit` stand in two header lines.
  void column(std::string title, std::string unit, Align align);
  // As many cells as columns; fewer leave the rest empty. The last cell given may run over the columns after it.
  void row(std::vector<std::string> cells, bool runs_over = false);
  std::size_t columns() const { return columns_.size(); }
  std::size_t width() const;
  std::vector<std::string> header_lines() const;
  std::vector<std::string> lines() const;

 private:
  struct Column {
    std::string title, unit;
    Align align;
  };
  struct Row {
    std::vector<std::string> cells;
    bool runs_over;
  };
  std::vector<std::size_t> widths() const;
  std::string line(const std::vector<std::string>& cells, bool runs_over) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// Columns that a text takes on a terminal: its code points (names here hold no wide or combining ones).
std::size_t text_width(const std::string& text);

}  // namespace lockstep
