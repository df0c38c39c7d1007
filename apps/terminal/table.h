#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

enum class Align { left, right };

/// Text in aligned columns: a header, a rule, rows. Cells may hold any UTF-8; control characters
/// become '?', and what is wider than widest_cell is cut.
class Table {
 public:
  static constexpr std::size_t widest_cell = 100;

  /// A column without a heading is fine; a table needs at least one column.
  struct Column {
    std::string heading{};
    Align align = Align::right;
  };

  explicit Table(std::vector<Column> columns);

  /// Missing cells are empty. Throws std::invalid_argument for more cells than columns.
  Table& row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  /// Lines with a line end each, without trailing blanks, every line after `indent` blanks.
  std::string text(std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// A table whose rows come one by one, hours apart: widths are fixed beforehand, so that the head
/// is printed once. A cell that is wider than its column is cut.
class RowTable {
 public:
  /// Neighbours of the same group, unless it is empty, stand under a common heading.
  struct Column {
    std::string heading{};
    std::size_t width = 1;
    Align align = Align::right;
    std::string group{};

    bool operator==(const Column&) const = default;
  };

  explicit RowTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  const std::vector<Column>& columns() const { return columns_; }
  /// Of its lines; none is wider.
  std::size_t width() const;
  /// Groups where there are some, headings, a rule: lines with a line end each.
  std::string head() const;
  /// A line with its line end, without trailing blanks. Missing cells are empty.
  std::string row(const std::vector<std::string>& cells) const;

 private:
  std::string groups() const;

  std::vector<Column> columns_;
};

}  // namespace headrace::inline v1::app
