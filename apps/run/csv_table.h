#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// A cell as CSV (RFC 4180), in quotes where it needs them.
std::string csv_quoted(const std::string& text);

/// A line of CSV without its line end.
std::string csv_line(const std::vector<std::string>& cells);

/// What a CSV file holds, whatever was done to it: empty lines are left out, missing cells are
/// empty, cells beyond the head get columns "unnamed 3", and a quote that is not closed ends with
/// the file.
struct CsvTable {
  std::vector<std::string> columns{};
  std::vector<std::vector<std::string>> rows{};  ///< a cell for each column

  /// Makes room for columns of these names: one that is new comes behind the one before it in
  /// `names`.
  void add_columns(const std::vector<std::string>& names);

  /// The whole file.
  std::string text() const;
};

CsvTable read_csv(std::string_view text);

/// The same of a file; nothing of one that is not there.
CsvTable read_csv_file(const std::filesystem::path& file);

}  // namespace headrace::inline v1::app
