#include <headrace/loaders/listing/detail/manifest_rows.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::detail {
namespace {

using Json = nlohmann::json;

constexpr int deepest = 8;

Json parse_line(std::string_view text, const std::string& file, std::int64_t line) {
  if (text.size() > ManifestText::longest_row)
    refuse_line(file, line, "a line must be at most 1 MiB long");
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > deepest) refuse_line(file, line, "must not be nested deeper than 8 levels");
    return true;
  };
  Json row = Json::parse(text, shallow, false);
  if (row.is_discarded()) refuse_line(file, line, "must be a JSON object, got something else");
  if (!row.is_object())
    refuse_line(file, line, std::string("must be a JSON object, got ") + row.type_name());
  return row;
}

/// The next line that is not blank; nothing at the end.
std::optional<Json> next_object(ManifestText& text, const std::string& file, std::int64_t& line) {
  for (std::string_view ahead = text.ahead(); !ahead.empty(); ahead = text.ahead()) {
    ++line;
    const std::size_t end = std::min(ahead.find('\n'), ahead.size());
    const std::string_view one = ahead.substr(0, end);
    text.skip(std::min(end + 1, ahead.size()));
    if (one.find_first_not_of(" \t\r") != std::string_view::npos)
      return parse_line(one, file, line);
  }
  return std::nullopt;
}

std::vector<std::string> names_in(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items())
    if (!value.is_null()) names.push_back(name);
  return names;
}

/// One key of a line: there in every line or in none.
class Column {
 public:
  enum class Takes { text, number, either };  ///< `either`: text or a whole number

  Column(std::string name, Takes takes, bool used)
      : name_(std::move(name)), takes_(takes), used_(used) {}

  /// Its value as text; empty where it is not used. Kinds may not mix.
  std::string_view text(const Json& row, const std::string& file, std::int64_t line) {
    const auto value = row.find(name_);
    const bool there = value != row.end() && !value->is_null();
    if (there != used_) {
      refuse_line(file, line,
                  name_ + " must be " + (used_ ? "there" : "left out") + " as in the first line");
    }
    if (!there) return {};
    check_kind(*value, file, line);
    text_ = value->is_string() ? value->get<std::string>() : value->dump();
    return text_;
  }

 private:
  void check_kind(const Json& value, const std::string& file, std::int64_t line) {
    const bool number = value.is_number();
    const auto refuse = [&](const char* rule) {
      refuse_line(file, line, name_ + " must be " + rule + ", got " + value.type_name());
    };
    if (takes_ == Takes::text && !value.is_string()) refuse("a path");
    if (takes_ == Takes::number && !number) refuse("a number");
    if (takes_ == Takes::either && !value.is_string() && !value.is_number_integer())
      refuse("text or a whole number");
    if (known_kind_ && number != number_) {
      refuse_line(
          file, line,
          name_ + " must be " + (number_ ? "a number" : "text") + " as in the lines before");
    }
    known_kind_ = true;
    number_ = number;
  }

  std::string name_;
  Takes takes_;
  bool used_;
  bool known_kind_ = false;
  bool number_ = false;
  std::string text_;
};

Column::Takes takes_of(const ManifestCell& cell) {
  if (cell.text == &ManifestRow::path || cell.text == &ManifestRow::mask)
    return Column::Takes::text;
  if (cell.text == &ManifestRow::weight) return Column::Takes::number;
  return Column::Takes::either;
}

/// The columns of a manifest, named by its first line.
class Columns {
 public:
  Columns(const ManifestRequest& request, const Json& first, std::int64_t line)
      : file_(request.file) {
    const std::vector<std::string> there = names_in(first);
    found_ = find_columns(request, there, line);
    for (const ManifestCell& cell : manifest_cells) {
      const std::string& name = found_.*cell.column;
      // What the first line has and nobody asked for is passed over in all lines.
      const bool passed_over = std::find(there.begin(), there.end(), cell.name) != there.end();
      if (!name.empty()) {
        cells_.emplace_back(cell.text, Column(name, takes_of(cell), true));
      } else if (!passed_over) {
        cells_.emplace_back(cell.text, Column(cell.name, takes_of(cell), false));
      }
    }
    for (const std::string& name : found_.labels)
      labels_.emplace_back(name, Column::Takes::either, true);
  }
  const ManifestColumns& found() const noexcept { return found_; }

  void put(const Json& json, ManifestRow& row) {
    for (auto& [text, column] : cells_)
      row.*text = column.text(json, file_, row.line);
    row.labels.clear();
    for (Column& column : labels_)
      row.labels.push_back(column.text(json, file_, row.line));
  }

 private:
  std::string file_;
  ManifestColumns found_;
  std::vector<std::pair<std::string_view ManifestRow::*, Column>> cells_;
  std::vector<Column> labels_;
};

}  // namespace

std::vector<std::string> jsonl_columns(ManifestText& text, const std::string& file) {
  std::int64_t line = 0;
  const std::optional<Json> first = next_object(text, file, line);
  if (!first) refuse_line(file, 1, "must list a file, got none");
  return names_in(*first);
}

void read_jsonl_manifest(ManifestText& text, const ManifestRequest& request,
                         const ManifestTaker& taker) {
  std::optional<Columns> columns;
  ManifestRow row;
  while (const std::optional<Json> json = next_object(text, request.file, row.line)) {
    if (!columns) {
      columns.emplace(request, *json, row.line);
      taker.begin(columns->found());
    }
    columns->put(*json, row);
    taker.take(row);
  }
}

}  // namespace headrace::inline v1::detail
