#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace headrace::inline v1::detail {

/// One row of a manifest, as written. Texts are valid during the call.
struct ManifestRow {
  std::int64_t line = 0;  ///< where it begins, from 1
  std::string_view image;
  std::string_view mask;
  std::string_view label;
  std::string_view group;
  double weight = 1.0;
};

/// Which columns a manifest has beside "image".
struct ManifestColumns {
  bool mask = false;
  bool label = false;
  bool group = false;
  bool weight = false;
};

/// Comma-separated (RFC 4180; a header line names the columns; `separator` may be a tab) and JSON
/// Lines (an object a line). Columns: image, mask, label, weight, group; others are passed over.
/// Throws ConfigError naming `file`, line and column: a column that is missing, a row with too few
/// or too many fields, a value of the wrong kind.
ManifestColumns read_csv_manifest(std::string_view text, char separator, const std::string& file,
                                  const std::function<void(const ManifestRow&)>& take);
ManifestColumns read_jsonl_manifest(std::string_view text, const std::string& file,
                                    const std::function<void(const ManifestRow&)>& take);

/// A ConfigError about a line of a manifest.
[[noreturn]] void refuse_line(const std::string& file, std::int64_t line, const std::string& rule);

}  // namespace headrace::inline v1::detail
