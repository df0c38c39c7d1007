#include <headrace/apps/terminal/table.h>
#include <headrace/apps/terminal/text_width.h>

#include <algorithm>
#include <stdexcept>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t gap = 2;

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
  for (Column& column : columns_)
    column.heading = clean_text(column.heading, widest_cell);
}

Table& Table::row(std::vector<std::string> cells) {
  if (cells.size() > columns_.size()) throw std::invalid_argument("more cells than columns");
  cells.resize(columns_.size());
  for (std::string& cell : cells)
    cell = clean_text(cell, widest_cell);
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
      if (c > 0) line.append(gap, ' ');
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

std::size_t RowTable::width() const {
  std::size_t width = columns_.empty() ? 0 : gap * (columns_.size() - 1);
  for (const Column& column : columns_)
    width += column.width;
  return width;
}

std::string RowTable::head() const {
  std::vector<std::string> headings;
  headings.reserve(columns_.size());
  for (const Column& column : columns_)
    headings.push_back(column.heading);
  return groups() + row(headings) + std::string(width(), '-') + '\n';
}

std::string RowTable::groups() const {
  std::string line;
  bool any = false;
  for (std::size_t c = 0; c < columns_.size();) {
    const std::string& group = columns_[c].group;
    std::size_t room = columns_[c].width;
    std::size_t next = c + 1;
    for (; !group.empty() && next < columns_.size() && columns_[next].group == group; ++next)
      room += gap + columns_[next].width;
    if (c > 0) line.append(gap, ' ');
    append_cell(line, clean_text(group, room), room, Align::right);
    any = any || !group.empty();
    c = next;
  }
  if (!any) return {};
  std::string text;
  finish_line(text, std::move(line));
  return text;
}

std::string RowTable::row(const std::vector<std::string>& cells) const {
  std::string line;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (c > 0) line.append(gap, ' ');
    append_cell(line, c < cells.size() ? clean_text(cells[c], column.width) : std::string{},
                column.width, column.align);
  }
  std::string text;
  finish_line(text, std::move(line));
  return text;
}

}  // namespace headrace::inline v1::app
