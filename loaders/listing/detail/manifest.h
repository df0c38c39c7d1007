#pragma once

#include <headrace/loaders/listing/detail/file_table.h>
#include <headrace/loaders/listing/detail/manifest_rows.h>
#include <headrace/loaders/listing/detail/record_values.h>

#include <filesystem>
#include <string>

namespace headrace::inline v1::detail {

/// What a manifest lists, in its order. No masks: the table is empty.
struct Manifest {
  FileTable files;
  FileTable masks;
  RecordValues values;
};

/// Reads a manifest of `bytes` bytes (.csv, .tsv, .jsonl) and looks at each file once. Throws
/// ConfigError naming file, line and column for what is missing or cannot be right; for a path that
/// leaves the root, by a link either; and for a file that is in two splits.
Manifest read_manifest(const ManifestRequest& request, std::uint64_t bytes);

/// Canonical name of a manifest. Throws ConfigError where it is no file.
std::string canonical_manifest(const std::filesystem::path& file);

}  // namespace headrace::inline v1::detail
