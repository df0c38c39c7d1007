#pragma once

#include <headrace/loaders/listing/detail/manifest_rows.h>
#include <headrace/loaders/listing/internal/file_table.h>
#include <headrace/loaders/listing/internal/record_values.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// What a manifest lists, in its order. No masks: the table is empty.
struct Manifest {
  FileTable files;
  FileTable masks;
  RecordValues values;
  // The file as it was read: its size, its time of change, the CRC-32 of its contents.
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;
  std::uint32_t checksum = 0;
};

/// Reads a manifest (.csv, .tsv, .jsonl) by pieces and looks at each file once. Throws ConfigError
/// naming file, line and column for what is missing or cannot be right; for a path that leaves the
/// root, by a link either; and for a file that is in two splits. Throws ResourceError for one whose
/// list takes more memory than it may.
Manifest read_manifest(const ManifestRequest& request);

/// What column_names() gives; that is in one library, this in each that needs it.
std::vector<std::string> names_of_columns(const std::filesystem::path& manifest);

/// Canonical name of a manifest. Throws ConfigError where it is no file.
std::string canonical_manifest(const std::filesystem::path& file);

}  // namespace headrace::inline v1::detail
