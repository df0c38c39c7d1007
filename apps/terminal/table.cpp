#include <headrace/apps/terminal/table.h>

#include <headrace/apps/terminal/text_width.h>

#include <algorithm>
#include <stdexcept>

namespace headrace::inline v1::app {
namespace {

void append_cell(std::string& line, const std::string& cell, std::size_t width, Align align) {
  const std::string padding(width - text_width(cell), ' ');
  line += align == Align::right ? padding + cell : cell + padding;
}

void finish_line(std::string& text, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  if (columns_.empty()) throw std::invalid_argument("a table needs a column");
}

Table& Table::row(std::vector<std::string> cells) {
  if (cells.size() > columns_.size()) throw std::invalid_argument("more cells than columns");
  cells.resize(columns_.size());
  for (std::string& cell : cells)
    cell = clean_text(cell);
  rows_.push_back(std::move(cells));
  return *this;
}

std::string Table::text(std::size_t indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(text_width(columns_[c].heading));
    for (const auto& row : rows_)
      widths[c] = std::max(widths[c], text_width(row[c]));
  }
  const auto line_of = [&](const auto& cell_at) {
    std::string line(indent, ' ');
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) line += "  ";
      append_cell(line, cell_at(c), widths[c], columns_[c].align);
    }
    return line;
  };
  std::string text;
  finish_line(text, line_of([&](std::size_t c) { return columns_[c].heading; }));
  finish_line(text, line_of([&](std::size_t c) { return std::string(widths[c], '-'); }));
  for (const auto& row : rows_)
    finish_line(text, line_of([&](std::size_t c) { return row[c]; }));
  return text;
}

}  // namespace headrace::inline v1::app
