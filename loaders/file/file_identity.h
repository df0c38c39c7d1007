#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace headrace::inline v1::detail {

/// What a file is known again by without reading all of it.
struct FileStamp {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  ///< since 1970
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// Of the file that `file` or the link of that name leads to. Throws as file_failed() does.
FileStamp file_stamp(const std::filesystem::path& file);
/// Of an open file; all 0 where the system does not tell.
FileStamp open_stamp(int descriptor) noexcept;

/// Throws a PipelineError, which no rule for bad samples passes over, where the two differ: with
/// `name` (printable), sizes and times.
void require_unchanged(const std::string& name, const FileStamp& opened, const FileStamp& now);

/// No more of a file is looked at by content_sample().
inline constexpr std::uint64_t sampled_bytes = 3 * (64 << 10);

/// 64 bits (CRC-32C, CRC-32) of a file's size and of 64 KiB at its head, middle and tail, or of the
/// whole where it is no longer than those. Equal files agree; others do by chance only, or where
/// they differ between the stretches. Any thread. Throws as file_failed() does, DataError where the
/// file ends early.
std::uint64_t content_sample(const std::filesystem::path& file);

/// The same of all its bytes.
std::uint64_t content_sum(const std::filesystem::path& file);

/// A hash of what files are now, whatever their names: their stamps, and content_sample() of 64 of
/// them, evenly spread; one that cannot be read counts as empty. So many `threads` look at once.
/// Throws ResourceError where the process lacks descriptors.
std::uint64_t mark_of_files(std::size_t count,
                            const std::function<std::filesystem::path(std::size_t)>& file,
                            int threads = 1);

}  // namespace headrace::inline v1::detail
