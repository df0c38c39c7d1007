#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1 {

/// Of the calls below.
struct AtomicFileOptions {
  std::string who = "file";  ///< Begins what they throw: "[file] name: cannot sync: ...".
  /// Is given what was read back, before the file gets its name; what it throws goes on.
  std::function<void(const std::vector<std::byte>& written)> verify{};
};

/// Replaces `path` by `bytes` so that a crash at any moment leaves the whole old file or the whole
/// new one: space is reserved, a temporary file in the same folder written, synced, read back and
/// compared, then renamed, and the folder synced. On failure the temporary file is removed, the old
/// file is as it was, and ResourceError is thrown. Thread-safe.
HEADRACE_API void write_file_atomically(const std::filesystem::path& path,
                                        std::span<const std::byte> bytes,
                                        const AtomicFileOptions& options = {});
HEADRACE_API void write_file_atomically(const std::filesystem::path& path, std::string_view text,
                                        const AtomicFileOptions& options = {});

/// All of a regular file. Throws ResourceError that begins with "[who]".
HEADRACE_API std::vector<std::byte> read_whole_file(const std::filesystem::path& path,
                                                    std::string_view who = "file");

/// Removes temporary files that processes which no longer run have left in `folder`; gives their
/// names. Throws std::filesystem::filesystem_error for a folder that cannot be read.
HEADRACE_API std::vector<std::filesystem::path> remove_stale_temporaries(
    const std::filesystem::path& folder);

}  // namespace headrace::inline v1
