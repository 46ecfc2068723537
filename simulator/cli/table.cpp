#include "simulator/cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::size_t used = text_width(text);
  const std::string space(used < width ? width - used : 0, ' ');
  return align == Align::Left ? text + space : space + text;
}

std::string without_tail(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::size_t text_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void TextTable::column(std::string title, std::string unit, Align align) {
  columns_.push_back({std::move(title), std::move(unit), align});
}

void TextTable::row(std::vector<std::string> cells, bool runs_over) {
  rows_.push_back({std::move(cells), runs_over});
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(std::max(text_width(column.title), text_width(column.unit)));
  for (const Row& row : rows_)
    for (std::size_t i = 0; i < row.cells.size() && i < widths.size(); ++i)
      if (!row.runs_over || i + 1 < row.cells.size()) widths[i] = std::max(widths[i], text_width(row.cells[i]));
  return widths;
}

std::size_t TextTable::width() const {
  std::size_t sum = 0;
  for (const std::size_t width : widths()) sum += width + 2;
  return sum < 2 ? 0 : sum - 2;
}

std::string TextTable::line(const std::vector<std::string>& cells, bool runs_over,
                            const std::vector<std::size_t>& width) const {
  std::string text;
  for (std::size_t i = 0; i < cells.size() && i < columns_.size(); ++i) {
    if (i > 0) text += "  ";
    text += runs_over && i + 1 == cells.size() ? cells[i] : padded(cells[i], width[i], columns_[i].align);
  }
  return without_tail(text);
}

std::vector<std::string> TextTable::header_lines() const {
  std::vector<std::string> titles, units;
  bool any_unit = false;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    units.push_back(column.unit);
    any_unit |= !column.unit.empty();
  }
  const auto width = widths();
  std::vector<std::string> lines = {line(titles, false, width)};
  if (any_unit) lines.push_back(line(units, false, width));
  return lines;
}

std::vector<std::string> TextTable::lines() const {
  return fitted(std::string::npos).lines;
}

TextTable::Fitted TextTable::fitted(std::size_t most) const {
  Fitted fitted;
  const auto width = widths();
  for (const Row& row : rows_) {
    std::string text = line(row.cells, row.runs_over, width);
    const std::size_t colon = row.cells.empty() ? std::string::npos : row.cells.back().find(": ");
    if (row.runs_over && colon != std::string::npos && text_width(text) > most) {
      const std::string why = row.cells.back().substr(colon + 2);
      auto note = std::find(fitted.notes.begin(), fitted.notes.end(), why);
      if (note == fitted.notes.end()) note = fitted.notes.insert(fitted.notes.end(), why);
      std::vector<std::string> cells = row.cells;
      cells.back() = fmt::format("{} [{}]", cells.back().substr(0, colon), note - fitted.notes.begin() + 1);
      text = line(cells, true, width);
    }
    fitted.lines.push_back(std::move(text));
  }
  return fitted;
}

std::string table_text(const TextTable& table, const Output& output) {
  std::string text;
  for (const std::string& line : table.header_lines()) text += heading(line, output) + '\n';
  const TextTable::Fitted fitted = table.fitted(kColumns);
  for (const std::string& line : fitted.lines) text += line + '\n';
  for (std::size_t i = 0; i < fitted.notes.size(); ++i)
    text += wrapped(fmt::format("[{}] {}", i + 1, fitted.notes[i]), kColumns, 4) + '\n';
  return text;
}

}  // namespace lockstep
