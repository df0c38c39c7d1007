#pragma once

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

/// Rows of one shape as CSV (RFC 4180): the first row's names make the header. Appends to a file
/// that has the same header. Not thread-safe.
class CsvWriter {
 public:
  /// Opens on the first row.
  explicit CsvWriter(std::filesystem::path file);

  /// Writes and flushes a row. Throws ConfigError if its names are not those of the header,
  /// ResourceError if it cannot be written.
  void write(const MetricRow& row);

 private:
  void open(const std::string& header);

  std::filesystem::path file_;
  std::ofstream stream_;
  std::string header_;
};

/// One JSON object a line. Non-finite numbers become null. Not thread-safe.
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
