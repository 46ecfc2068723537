// A table of text: columns as wide as their widest cell, two spaces between them, units in the header.
#pragma once

#include <string>
#include <vector>

#include "simulator/cli/output.h"

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
  // The lines, where a row that runs over would be wider than `width` cut short: its last cell `not run: why` becomes
  // `not run [1]`, and `why` is note 1. The same words are one note.
  struct Fitted {
    std::vector<std::string> lines, notes;
  };
  Fitted fitted(std::size_t width) const;

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
  std::string line(const std::vector<std::string>& cells, bool runs_over, const std::vector<std::size_t>& width) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// Header, rows and notes of a table at most kColumns wide (where its columns are), ending in a newline.
std::string table_text(const TextTable& table, const Output& output);

// Columns that a text takes on a terminal: its code points (names here hold no wide or combining ones).
std::size_t text_width(const std::string& text);

}  // namespace lockstep
