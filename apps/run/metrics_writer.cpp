#include <headrace/apps/run/csv_table.h>
#include <headrace/apps/run/metrics_writer.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

std::string text_of(const MetricValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  return fmt::format("{}", std::get<double>(value));
}

std::vector<std::string> names_of(const MetricRow& row) {
  std::vector<std::string> names;
  names.reserve(row.size());
  for (const auto& [name, value] : row)
    names.push_back(name);
  return names;
}

std::string cell_of(const CsvTable& table, const std::string& column) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), column);
  if (found == table.columns.end()) return {};
  return table.rows.back()[static_cast<std::size_t>(found - table.columns.begin())];
}

// Whether the table's last row is the same but for the last entry of the key, which is no smaller.
bool ends_with_row(const CsvTable& table, const MetricRow& row, std::size_t key) {
  if (table.rows.empty()) return false;
  for (std::size_t i = 0; i + 1 < key; ++i)
    if (cell_of(table, row[i].first) != text_of(row[i].second)) return false;
  const std::string last = cell_of(table, row[key - 1].first);
  return !last.empty() && std::atoll(last.c_str()) >= std::get<std::int64_t>(row[key - 1].second);
}

void open_for_appending(std::ofstream& stream, const fs::path& file) {
  stream.open(file, std::ios::app | std::ios::binary);
  if (!stream)
    throw ResourceError(
        fmt::format("[run folder] {}: cannot be opened for writing", file.string()));
}

// A process that was killed may have left its last line without an end.
bool ends_within_line(const fs::path& file) {
  std::error_code none;
  if (!fs::is_regular_file(file, none)) return false;
  std::ifstream stream(file, std::ios::binary);
  return stream.seekg(-1, std::ios::end) && stream.get() != '\n';
}

void write_line(std::ofstream& stream, const std::string& line, const fs::path& file) {
  stream << line << '\n' << std::flush;
  if (!stream)
    throw ResourceError(
        fmt::format("[run folder] {}: cannot be written; is the disk full?", file.string()));
}

}  // namespace

std::string to_json(const MetricRow& row) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [name, value] : row) {
    std::visit([&, &key = name](const auto& held) { object[key] = held; }, value);
  }
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

CsvWriter::CsvWriter(fs::path file) : file_(std::move(file)) {}

// What was there before stays as it is where a row can follow it; else it is written anew.
void CsvWriter::make_room(const MetricRow& row, std::size_t key) {
  const std::string before = read_whole_text(file_, "run folder");
  CsvTable table = read_csv(before);
  if (columns_.empty() && key > 0)
    while (ends_with_row(table, row, key))
      table.rows.pop_back();
  table.add_columns(names_of(row));
  stream_.close();
  const std::string now = table.text();
  if (now != before) write_file_atomically(file_, now);
  open_for_appending(stream_, file_);
  columns_ = std::move(table.columns);
}

void CsvWriter::write(const MetricRow& row, std::size_t key) {
  const auto known = [&](const auto& entry) {
    return std::find(columns_.begin(), columns_.end(), entry.first) != columns_.end();
  };
  if (columns_.empty() || !std::all_of(row.begin(), row.end(), known)) make_room(row, key);
  std::vector<std::string> cells(columns_.size());
  for (const auto& [name, value] : row) {
    const auto column = std::find(columns_.begin(), columns_.end(), name);
    cells[static_cast<std::size_t>(column - columns_.begin())] = text_of(value);
  }
  write_line(stream_, csv_line(cells), file_);
}

JsonLinesWriter::JsonLinesWriter(fs::path file) : file_(std::move(file)) {}

void JsonLinesWriter::write(const MetricRow& row) {
  write_json(to_json(row));
}

void JsonLinesWriter::write_json(const std::string& object) {
  if (!stream_.is_open() || stream_.fail()) {  // a disk that was full may have room again
    stream_ = std::ofstream();
    const bool cut = ends_within_line(file_);
    open_for_appending(stream_, file_);
    if (cut) stream_ << '\n';
  }
  write_line(stream_, object, file_);
}

}  // namespace headrace::inline v1::app
