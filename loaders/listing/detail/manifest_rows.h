#pragma once

#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/detail/manifest_text.h>
#include <headrace/loaders/listing/manifest_columns.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

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
  /// Bytes that the list may take; 0: half of the machine's memory.
  std::size_t memory = 0;
};

/// Who takes a manifest: first its columns (the request's by the names that it has, empty where it
/// has none), then its rows, one after the other.
struct ManifestTaker {
  std::function<void(const ManifestColumns& found)> begin;
  std::function<void(const ManifestRow& row)> take;
};

/// Comma-separated (RFC 4180; a header line names the columns; `separator` may be a tab) and JSON
/// Lines (an object a line). Columns that are not asked for are passed over. Throws ConfigError
/// naming file, line and column: a column that is missing, a row with too few or too many fields or
/// of more than 1 MiB, a value of the wrong kind.
void read_csv_manifest(ManifestText& text, char separator, const ManifestRequest& request,
                       const ManifestTaker& taker);
void read_jsonl_manifest(ManifestText& text, const ManifestRequest& request,
                         const ManifestTaker& taker);

/// The wanted columns among those that are `there`. Throws ConfigError about the line for one that
/// is missing, or stands for two things.
ManifestColumns find_columns(const ManifestRequest& request, std::span<const std::string> there,
                             std::int64_t line);

/// A ConfigError about a line of a manifest.
[[noreturn]] void refuse_line(const std::string& file, std::int64_t line, const std::string& rule);

/// `; did you mean "..."?` where one of `names` is near what was written, else nothing.
std::string suggestion(std::string_view written, std::span<const std::string> names);

}  // namespace headrace::inline v1::detail
