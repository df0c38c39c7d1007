#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/image_listing.h>
#include <headrace/loaders/image/detail/manifest_rows.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

/// Splits a text into records of fields (RFC 4180).
class CsvReader {
 public:
  CsvReader(std::string_view text, char separator, const std::string& file)
      : text_(text), separator_(separator), file_(file) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  }

  /// The next record; false at the end. Empty lines are passed over.
  bool next(std::vector<std::string>& fields) {
    while (!text_.empty() && (text_[0] == '\n' || text_[0] == '\r'))
      take_line_end();
    if (text_.empty()) return false;
    line_ = next_line_;
    std::size_t count = 0;
    for (bool more = true; more; ++count) {
      if (count == fields.size()) fields.emplace_back();
      more = field(fields[count]);
    }
    fields.resize(count);
    return true;
  }
  std::int64_t line() const noexcept { return line_; }

 private:
  void take_line_end() {
    const bool pair = text_.starts_with("\r\n");
    text_.remove_prefix(pair ? 2 : 1);
    ++next_line_;
  }

  /// Takes a field; true when another one follows in the record.
  bool field(std::string& out) {
    out.clear();
    if (!text_.empty() && text_[0] == '"') {
      quoted(out);
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
    if (text_[0] == '\n' || text_[0] == '\r') {
      take_line_end();
      return false;
    }
    refuse_line(file_, line_, "a quote may only begin a field and end it; double those inside");
  }

  void quoted(std::string& out) {
    text_.remove_prefix(1);
    for (;;) {
      const std::size_t end = text_.find('"');
      if (end == std::string_view::npos) refuse_line(file_, line_, "a quoted field must end");
      const std::string_view part = text_.substr(0, end);
      next_line_ += std::count(part.begin(), part.end(), '\n');
      out += part;
      text_.remove_prefix(end + 1);
      if (text_.empty() || text_[0] != '"') return;
      out += '"';
      text_.remove_prefix(1);
    }
  }

  std::string_view text_;
  char separator_;
  const std::string& file_;
  std::int64_t line_ = 0;
  std::int64_t next_line_ = 1;
};

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : ", ") + printable(name);
  return text;
}

/// Places of the known columns in a header; -1 for one that is not there.
struct Places {
  std::ptrdiff_t image = -1;
  std::ptrdiff_t mask = -1;
  std::ptrdiff_t label = -1;
  std::ptrdiff_t group = -1;
  std::ptrdiff_t weight = -1;
};

Places find_places(const std::vector<std::string>& header, const std::string& file) {
  const auto place = [&](std::string_view name) -> std::ptrdiff_t {
    const auto at = std::find(header.begin(), header.end(), name);
    if (at == header.end()) return -1;
    if (std::find(at + 1, header.end(), name) != header.end())
      refuse_line(file, 1, "column \"" + std::string(name) + "\" must stand there once");
    return at - header.begin();
  };
  const Places places{place("image"), place("mask"), place("label"), place("group"),
                      place("weight")};
  if (places.image < 0) {
    refuse_line(file, 1,
                "column \"image\" must be there, got " + joined(header) +
                    "; the first line names the columns");
  }
  return places;
}

double weight_of(const std::string& text, const std::string& file, std::int64_t line) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !is_weight(value)) {
    refuse_line(file, line, "weight must be a number from 0 on, got \"" + printable(text) + "\"");
  }
  return value;
}

}  // namespace

void refuse_line(const std::string& file, std::int64_t line, const std::string& rule) {
  throw ConfigError("[image manifest] " + printable(file) + ":" + std::to_string(line) + ": " +
                    rule);
}

ManifestColumns read_csv_manifest(std::string_view text, char separator, const std::string& file,
                                  const std::function<void(const ManifestRow&)>& take) {
  CsvReader reader(text, separator, file);
  std::vector<std::string> header;
  if (!reader.next(header)) refuse_line(file, 1, "the first line must name the columns, got none");
  const Places places = find_places(header, file);
  std::vector<std::string> fields;
  while (reader.next(fields)) {
    const std::int64_t line = reader.line();
    if (fields.size() < header.size()) {
      refuse_line(file, line,
                  "column \"" + printable(header[fields.size()]) + "\" must be there, got " +
                      std::to_string(fields.size()) + " of " + std::to_string(header.size()) +
                      " fields");
    }
    if (fields.size() > header.size()) {
      refuse_line(file, line,
                  "must have " + std::to_string(header.size()) + " fields, got " +
                      std::to_string(fields.size()) + "; quote a field with a separator");
    }
    const auto value = [&fields](std::ptrdiff_t at) -> std::string_view {
      return at < 0 ? std::string_view() : fields[static_cast<std::size_t>(at)];
    };
    ManifestRow row{line, value(places.image), value(places.mask), value(places.label),
                    value(places.group)};
    if (places.weight >= 0)
      row.weight = weight_of(fields[static_cast<std::size_t>(places.weight)], file, line);
    take(row);
  }
  return {places.mask >= 0, places.label >= 0, places.group >= 0, places.weight >= 0};
}

}  // namespace headrace::inline v1::detail
