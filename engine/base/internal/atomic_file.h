#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1 {

/// Takes the next bytes of a file; they need not live longer than the call.
using ByteSink = std::function<void(std::span<const std::byte>)>;

/// What a file is to hold, in pieces: it need not be in memory as a whole.
struct FileContent {
  std::uint64_t size = 0;
  /// Hands all of it, in order, to the sink. It is called twice, the second time to compare what
  /// was read back.
  std::function<void(const ByteSink&)> pieces = {};
};

/// Of the calls below.
struct AtomicFileOptions {
  std::string who = "file";  ///< begins what they throw: "[file] name: cannot sync: ..."
};

/// Replaces `path` by the content so that a crash at any moment leaves the whole old file or the
/// whole new one: space is reserved, a temporary file in the same folder written, synced, read back
/// and compared, then renamed, and the folder synced. On failure the temporary file is removed, the
/// old file is as it was, and ResourceError is thrown. Thread-safe.
HEADRACE_API void write_file_atomically(const std::filesystem::path& path,
                                        const FileContent& content,
                                        const AtomicFileOptions& options = {});
HEADRACE_API void write_file_atomically(const std::filesystem::path& path,
                                        std::span<const std::byte> bytes,
                                        const AtomicFileOptions& options = {});
HEADRACE_API void write_file_atomically(const std::filesystem::path& path, std::string_view text,
                                        const AtomicFileOptions& options = {});

/// What is read whole is small.
inline constexpr std::uint64_t most_whole_file = std::uint64_t{64} << 20;

/// All of a regular file of at most `most` bytes. Throws ResourceError that begins with "[who]".
HEADRACE_API std::vector<std::byte> read_whole_file(const std::filesystem::path& path,
                                                    std::string_view who = "file",
                                                    std::uint64_t most = most_whole_file);

/// The same as text; empty where there is no such file.
HEADRACE_API std::string read_whole_text(const std::filesystem::path& path,
                                         std::string_view who = "file",
                                         std::uint64_t most = most_whole_file);

/// A word that no other process has, on whatever machine shares a folder, nor this one again:
/// letters, digits and '-'.
HEADRACE_API std::string unique_word();

/// Removes temporary files that nobody writes any more from `folder`; gives their names. A writer
/// of this machine holds a lock (flock(2)); of another one, or where the file system has no locks,
/// a file is left behind when it was not written to for a day. Throws
/// std::filesystem::filesystem_error for a folder that cannot be read.
HEADRACE_API std::vector<std::filesystem::path> remove_stale_temporaries(
    const std::filesystem::path& folder);

}  // namespace headrace::inline v1
