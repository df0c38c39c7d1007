#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace headrace::inline v1::training {

/// The whole file. Throws `CheckpointError`.
HEADRACE_API std::vector<std::byte> read_file(const std::filesystem::path& path);

/// Replaces `path` by `bytes` so that a crash at any moment leaves the whole old file or the whole
/// new one: space is reserved, a temporary file in the same folder written, synced, read back and
/// compared (and given to `verify`, which may throw), then renamed, and the folder synced. On
/// failure the temporary file is removed, the old file is as it was, and `CheckpointError` is
/// thrown.
HEADRACE_API void write_file_atomically(
    const std::filesystem::path& path, std::span<const std::byte> bytes,
    const std::function<void(const std::vector<std::byte>& written)>& verify = {});

/// Removes temporary files that processes which no longer run have left in `folder`; gives their
/// names.
HEADRACE_API std::vector<std::filesystem::path> remove_stale_temporaries(
    const std::filesystem::path& folder);

}  // namespace headrace::inline v1::training
