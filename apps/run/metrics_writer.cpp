#include <headrace/apps/run/metrics_writer.h>

#include <headrace/engine/base/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string_view>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

std::string csv_quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string csv_value(const MetricValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return csv_quoted(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  return fmt::format("{}", std::get<double>(value));
}

template <class Text>
std::string joined(const MetricRow& row, Text text) {
  std::string line;
  for (const auto& entry : row)
    line += (line.empty() && &entry == &row.front() ? "" : ",") + text(entry);
  return line;
}

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

void open_for_appending(std::ofstream& stream, const fs::path& file) {
  stream.open(file, std::ios::app | std::ios::binary);
  if (!stream)
    throw ResourceError(
        fmt::format("[run folder] {}: cannot be opened for writing", file.string()));
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

void CsvWriter::open(const std::string& header) {
  const std::string existing = fs::exists(file_) ? first_line(file_) : std::string{};
  if (!existing.empty() && existing != header) {
    throw ConfigError(fmt::format("[run folder] {}: columns must be \"{}\" as before, got \"{}\"",
                                  file_.string(), existing, header));
  }
  open_for_appending(stream_, file_);
  header_ = header;
  if (existing.empty()) write_line(stream_, header, file_);
}

void CsvWriter::write(const MetricRow& row) {
  const std::string header = joined(row, [](const auto& entry) { return csv_quoted(entry.first); });
  if (header_.empty()) open(header);
  if (header != header_) {
    throw ConfigError(fmt::format("[run folder] {}: columns must be \"{}\" as before, got \"{}\"",
                                  file_.string(), header_, header));
  }
  write_line(stream_, joined(row, [](const auto& entry) { return csv_value(entry.second); }),
             file_);
}

JsonLinesWriter::JsonLinesWriter(fs::path file) : file_(std::move(file)) {}

void JsonLinesWriter::write(const MetricRow& row) {
  write_json(to_json(row));
}

void JsonLinesWriter::write_json(const std::string& object) {
  if (!stream_.is_open()) open_for_appending(stream_, file_);
  write_line(stream_, object, file_);
}

}  // namespace headrace::inline v1::app
