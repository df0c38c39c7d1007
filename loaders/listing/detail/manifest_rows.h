#pragma once

#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/file/read_file.h>
#include <headrace/loaders/listing/manifest_columns.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

/// The text of a manifest, read by pieces as it is taken, so that a wrong file of any size costs
/// little. A zero byte is refused with the piece that it is in.
class ManifestText {
 public:
  /// Of a row, its line end not counted.
  static constexpr std::size_t longest_row = std::size_t{1} << 20;

  /// Throws ConfigError for what is no file that can be read; `file` outlives it.
  explicit ManifestText(const std::string& file);

  /// The text from here on, as much as a row may take with its line end, or all that there is.
  /// Valid until it is called again. Throws ConfigError.
  std::string_view ahead();
  /// Goes behind so many bytes of it.
  void skip(std::size_t bytes) noexcept { begin_ += bytes; }
  /// Whether the text ends with what was last ahead.
  bool ends() const noexcept { return read_ == bytes_ && buffer_.size() - begin_ <= most_ahead; }

  std::uint64_t bytes() const noexcept { return bytes_; }
  std::int64_t changed_ns() const noexcept { return changed_ns_; }
  /// CRC-32 of what was read.
  std::uint32_t checksum() const noexcept { return checksum_; }

 private:
  static constexpr std::size_t most_ahead = longest_row + 1;

  void read_piece();
  [[noreturn]] void refuse(const std::string& rule) const;

  const std::string& file_;
  FileDescriptor in_;
  std::uint64_t bytes_ = 0;
  std::int64_t changed_ns_ = 0;
  std::uint64_t read_ = 0;
  std::uint32_t checksum_ = 0;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what was not taken
};

/// One row of a manifest, as written; empty where there is no such column. Texts are valid during
/// the call.
struct ManifestRow {
  std::int64_t line = 0;  ///< where it begins, from 1
  std::string_view path;
  std::string_view mask;
  std::string_view label;
  std::string_view group;
  std::string_view weight;
  std::string_view split;
  std::vector<std::string_view> labels;  ///< of ManifestColumns::labels
};

/// A column of one cell: which it is, where its text goes, its default name.
struct ManifestCell {
  std::string ManifestColumns::*column;
  std::string_view ManifestRow::*text;
  const char* name;
};
inline constexpr ManifestCell manifest_cells[] = {
    {&ManifestColumns::path, &ManifestRow::path, "path"},
    {&ManifestColumns::mask, &ManifestRow::mask, "mask"},
    {&ManifestColumns::label, &ManifestRow::label, "label"},
    {&ManifestColumns::group, &ManifestRow::group, "group"},
    {&ManifestColumns::weight, &ManifestRow::weight, "weight"},
    {&ManifestColumns::split, &ManifestRow::split, "split"}};

/// A manifest, and what is wanted of it.
struct ManifestRequest {
  std::string file;
  std::string root;  ///< canonical folder that paths are below
  ManifestColumns columns{};
  std::vector<std::string> classes{};  ///< fixes their numbers; empty: they follow from the labels
  std::vector<std::string> path_names{"path"};  ///< of the paths' column where none is named
  bool masks = false;                           ///< whether a column "mask" is looked for
  bool follow_links = false;                    ///< out of the root, too
  /// Bytes that the list may take; 0: half of the machine's memory.
  std::size_t memory = 0;
};

/// Who takes a manifest: first its columns (the request's by the names that it has, empty where it
/// has none), then its rows, one after the other.
struct ManifestTaker {
  std::function<void(const ManifestColumns& found)> begin;
  std::function<void(const ManifestRow& row)> take;
};

/// Comma-separated (RFC 4180; a header line names the columns; where it lacks `separator` but has a
/// comma, a semicolon or a tab, that is it) and JSON Lines (an object a line). Columns that are not
/// asked for are passed over. Throws ConfigError naming file, line and column: a column that is
/// missing, a row with too few or too many fields or of more than 1 MiB, a value of the wrong kind.
void read_csv_manifest(ManifestText& text, char separator, const ManifestRequest& request,
                       const ManifestTaker& taker);
void read_jsonl_manifest(ManifestText& text, const ManifestRequest& request,
                         const ManifestTaker& taker);

/// The names of the columns alone, of the first row. Throws ConfigError where it names none.
std::vector<std::string> csv_columns(ManifestText& text, char separator, const std::string& file);
std::vector<std::string> jsonl_columns(ManifestText& text, const std::string& file);

/// The wanted columns among those that are `there`. Throws ConfigError about the line for one that
/// is missing, or stands for two things.
ManifestColumns find_columns(const ManifestRequest& request, std::span<const std::string> there,
                             std::int64_t line);

/// Without blanks before and behind.
std::string_view trimmed(std::string_view text);

/// A ConfigError about a line of a manifest.
[[noreturn]] void refuse_line(const std::string& file, std::int64_t line, const std::string& rule);

/// `; did you mean "..."?` where one of `names` is near what was written, else nothing.
std::string suggestion(std::string_view written, std::span<const std::string> names);

}  // namespace headrace::inline v1::detail
