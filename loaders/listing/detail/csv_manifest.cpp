#include <headrace/loaders/listing/detail/manifest_rows.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

/// What separates the names in the first line: `usual`, or another that stands there in its place.
char separator_of(std::string_view text, char usual) {
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  std::string bare;
  bool quoted = false;
  for (const char c : text) {
    if (!quoted && (c == '\n' || c == '\r')) break;
    if (c == '"') quoted = !quoted;
    if (!quoted) bare += c;
  }
  for (const char one : {usual, ',', ';', '\t'})
    if (bare.find(one) != std::string::npos) return one;
  return usual;
}

/// Splits a text into records of fields (RFC 4180).
class CsvReader {
 public:
  CsvReader(ManifestText& input, char separator, const std::string& file)
      : input_(input), file_(file) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    if (input_.ahead().starts_with(mark)) input_.skip(mark.size());
    separator_ = separator_of(input_.ahead(), separator);
  }

  /// The next record; false at the end. Empty lines are passed over.
  bool next(std::vector<std::string>& fields) {
    for (text_ = input_.ahead(); at_line_end(); text_ = input_.ahead())
      input_.skip(take_line_end());
    const std::size_t before = text_.size();
    if (before == 0) return false;
    line_ = next_line_;
    std::size_t count = 0;
    for (bool more = true; more; ++count) {
      if (count == fields.size()) fields.emplace_back();
      more = field(fields[count]);
    }
    fields.resize(count);
    if (text_.empty() && !input_.ends()) refuse_long();
    input_.skip(before - text_.size());
    return true;
  }
  std::int64_t line() const noexcept { return line_; }

 private:
  bool at_line_end() const noexcept {
    return !text_.empty() && (text_[0] == '\n' || text_[0] == '\r');
  }

  /// Gives the bytes that it took.
  std::size_t take_line_end() {
    const std::size_t bytes = text_.starts_with("\r\n") ? 2 : 1;
    text_.remove_prefix(bytes);
    ++next_line_;
    return bytes;
  }

  /// Takes a field; true when another one follows in the record.
  bool field(std::string& out) {
    out.clear();
    if (!text_.empty() && text_[0] == '"') {
      take_quoted(out);
    } else {
      const char stops[] = {separator_, '\n', '\r', '"'};
      const std::size_t end = std::min(text_.find_first_of({stops, 4}), text_.size());
      out.assign(text_.substr(0, end));
      text_.remove_prefix(end);
    }
    if (text_.empty()) return false;
    if (text_[0] == separator_) {
      text_.remove_prefix(1);
      return true;
    }
    if (at_line_end()) {
      take_line_end();
      return false;
    }
    refuse_line(file_, line_, "a quote may only begin a field and end it; double those inside");
  }

  void take_quoted(std::string& out) {
    text_.remove_prefix(1);
    for (;;) {
      const std::size_t end = text_.find('"');
      if (end == std::string_view::npos) {
        if (!input_.ends()) refuse_long();
        refuse_line(file_, line_, "a quoted field must end");
      }
      const std::string_view part = text_.substr(0, end);
      next_line_ += std::count(part.begin(), part.end(), '\n');
      out += part;
      text_.remove_prefix(end + 1);
      if (text_.empty() || text_[0] != '"') return;
      out += '"';
      text_.remove_prefix(1);
    }
  }

  [[noreturn]] void refuse_long() const {
    refuse_line(file_, line_, "a row must be at most 1 MiB long; is a quote left open?");
  }

  ManifestText& input_;
  std::string_view text_;  // what is left of the record and of what is ahead of it
  char separator_ = ',';
  const std::string& file_;
  std::int64_t line_ = 0;
  std::int64_t next_line_ = 1;
};

/// Which field of a record each cell of a row is.
class Places {
 public:
  Places(const ManifestColumns& found, const std::vector<std::string>& header) {
    const auto place = [&header](const std::string& name) {
      return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) -
                                      header.begin());
    };
    for (const ManifestCell& cell : manifest_cells) {
      const std::string& name = found.*cell.column;
      if (!name.empty()) cells_.emplace_back(cell.text, place(name));
    }
    for (const std::string& name : found.labels)
      labels_.push_back(place(name));
  }

  void put(const std::vector<std::string>& fields, ManifestRow& row) const {
    for (const auto& [text, place] : cells_)
      row.*text = fields[place];
    row.labels.clear();
    for (const std::size_t place : labels_)
      row.labels.push_back(fields[place]);
  }

 private:
  std::vector<std::pair<std::string_view ManifestRow::*, std::size_t>> cells_;
  std::vector<std::size_t> labels_;
};

void check_count(const std::vector<std::string>& fields, const std::vector<std::string>& header,
                 const std::string& file, std::int64_t line) {
  if (fields.size() < header.size()) {
    refuse_line(file, line,
                "column " + detail::quoted(header[fields.size()]) + " must be there, got " +
                    std::to_string(fields.size()) + " of " + std::to_string(header.size()) +
                    " fields");
  }
  if (fields.size() > header.size()) {
    refuse_line(file, line,
                "must have " + std::to_string(header.size()) + " fields, got " +
                    std::to_string(fields.size()) + "; quote a field with a separator");
  }
}

std::vector<std::string> take_header(CsvReader& reader, const std::string& file) {
  std::vector<std::string> header;
  if (!reader.next(header)) refuse_line(file, 1, "the first line must name the columns, got none");
  for (std::string& name : header)
    name = trimmed(name);
  return header;
}

}  // namespace

std::vector<std::string> csv_columns(ManifestText& text, char separator, const std::string& file) {
  CsvReader reader(text, separator, file);
  return take_header(reader, file);
}

void read_csv_manifest(ManifestText& text, char separator, const ManifestRequest& request,
                       const ManifestTaker& taker) {
  const std::string& file = request.file;
  CsvReader reader(text, separator, file);
  const std::vector<std::string> header = take_header(reader, file);
  const ManifestColumns found = find_columns(request, header, 1);
  taker.begin(found);
  const Places places(found, header);
  std::vector<std::string> fields;
  ManifestRow row;
  while (reader.next(fields)) {
    row.line = reader.line();
    check_count(fields, header, file, row.line);
    places.put(fields, row);
    taker.take(row);
  }
}

}  // namespace headrace::inline v1::detail
