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

/// Replaces `path` by `bytes` as the engine's function of that name does (a crash at any moment
/// leaves the whole old file or the whole new one; `verify` is given what was read back and may
/// throw), but throws `CheckpointError`.
HEADRACE_API void write_file_atomically(
    const std::filesystem::path& path, std::span<const std::byte> bytes,
    const std::function<void(const std::vector<std::byte>& written)>& verify = {});

}  // namespace headrace::inline v1::training
