#include <headrace/apps/run/csv_table.h>
#include <headrace/engine/base/internal/atomic_file.h>

#include <algorithm>
#include <cstddef>

namespace headrace::inline v1::app {
namespace {

// Up to and with the line end.
std::vector<std::string> next_line(std::string_view& text) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && quoted && text.substr(i + 1).starts_with('"')) {
      cells.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c == '\n' && !quoted) {
      ++i;
      break;
    } else {
      cells.back() += c;
    }
  }
  text.remove_prefix(i);
  if (cells.back().ends_with('\r')) cells.back().pop_back();
  return cells;
}

}  // namespace

std::string csv_quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i)
    line += (i > 0 ? "," : "") + csv_quoted(cells[i]);
  return line;
}

void CsvTable::add_columns(const std::vector<std::string>& names) {
  std::size_t at = 0;
  for (const std::string& name : names) {
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end()) {
      const auto place = static_cast<std::ptrdiff_t>(at);
      columns.insert(columns.begin() + place, name);
      for (std::vector<std::string>& row : rows)
        row.insert(row.begin() + place, std::string{});
    } else {
      at = static_cast<std::size_t>(found - columns.begin());
    }
    ++at;
  }
}

std::string CsvTable::text() const {
  std::string all = csv_line(columns) + '\n';
  for (const std::vector<std::string>& row : rows)
    all += csv_line(row) + '\n';
  return all;
}

CsvTable read_csv(std::string_view text) {
  CsvTable table;
  std::size_t widest = 0;
  while (!text.empty()) {
    std::vector<std::string> cells = next_line(text);
    if (cells.size() == 1 && cells.front().empty()) continue;
    widest = std::max(widest, cells.size());
    if (table.columns.empty()) {
      table.columns = std::move(cells);
    } else {
      table.rows.push_back(std::move(cells));
    }
  }
  while (table.columns.size() < widest)
    table.columns.push_back("unnamed " + std::to_string(table.columns.size() + 1));
  for (std::vector<std::string>& row : table.rows)
    row.resize(widest);
  return table;
}

CsvTable read_csv_file(const std::filesystem::path& file) {
  return read_csv(read_whole_text(file, "csv"));
}

}  // namespace headrace::inline v1::app
