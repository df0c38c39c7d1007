#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <filesystem>

namespace headrace::inline v1::detail {

/// What a file is known again by without reading all of it.
struct FileStamp {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  ///< since 1970
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// Of the file that `file` or the link of that name leads to. Throws as file_failed() does.
HEADRACE_API FileStamp file_stamp(const std::filesystem::path& file);

/// 64 bits (CRC-32C, CRC-32) of a file's size and of 64 KiB at its head, middle and tail, or of the
/// whole where it is no longer than those. Equal files agree; others do by chance only, or where
/// they differ between the stretches. Any thread. Throws as file_failed() does, DataError where the
/// file ends early.
HEADRACE_API std::uint64_t content_sample(const std::filesystem::path& file);

/// The same of all its bytes.
HEADRACE_API std::uint64_t content_sum(const std::filesystem::path& file);

}  // namespace headrace::inline v1::detail
