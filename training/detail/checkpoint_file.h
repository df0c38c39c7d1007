#pragma once

#include <headrace/engine/base/internal/atomic_file.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

namespace headrace::inline v1::training::detail {

// A file that is read from its beginning on.
struct FileStream {
  std::uint64_t size = 0;
  std::function<void(std::span<std::byte> into)> read = {};  // the next bytes: all that it asks for
};

// Opens a regular file. Throws `CheckpointError`, as its `read` does.
FileStream open_file(const std::filesystem::path& path);

// As the engine's `write_file_atomically`, but throws `CheckpointWriteError`.
void write_file(const std::filesystem::path& path, const FileContent& content);

}  // namespace headrace::inline v1::training::detail
