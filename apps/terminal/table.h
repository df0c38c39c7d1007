#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

enum class Align { left, right };

/// Text in aligned columns: a header, a rule, rows. Cells may hold any UTF-8; control characters
/// become '?'.
class Table {
 public:
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

}  // namespace headrace::inline v1::app
