#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace headrace::inline v1::app {

/// A figure or a word of a row.
using MetricValue = std::variant<std::int64_t, double, std::string>;

/// Names and values in the order they are to be written.
using MetricRow = std::vector<std::pair<std::string, MetricValue>>;

/// Rows as CSV (RFC 4180) under one head. A file that is there is continued: names that its head
/// has not are added to it, and the rows of before have no value for them. Not thread-safe.
class CsvWriter {
 public:
  /// Opens on the first row.
  explicit CsvWriter(std::filesystem::path file);

  /// Writes and flushes a row; a column that it does not name stays empty. Its first `key` entries
  /// say which row it is, the last of them a number that grows: rows at the end that a process
  /// before has written of this number or later ones are replaced. A row with a new name costs
  /// reading and writing the whole file, atomically. Throws ResourceError if it cannot be written.
  void write(const MetricRow& row, std::size_t key = 0);

 private:
  void make_room(const MetricRow& row, std::size_t key);

  std::filesystem::path file_;
  std::ofstream stream_;
  std::vector<std::string> columns_;
};

/// One JSON object a line, behind what a file that is there holds. Non-finite numbers become null.
/// Not thread-safe.
class JsonLinesWriter {
 public:
  /// Opens for appending on the first line.
  explicit JsonLinesWriter(std::filesystem::path file);

  /// Writes and flushes a row. Throws ResourceError.
  void write(const MetricRow& row);
  /// Writes and flushes one object that is already JSON, without a line end in it.
  void write_json(const std::string& object);

 private:
  std::filesystem::path file_;
  std::ofstream stream_;
};

/// A row as one JSON object.
std::string to_json(const MetricRow& row);

}  // namespace headrace::inline v1::app
