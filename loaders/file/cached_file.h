#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

/// Opens a file for reading if its path is in the system's caches: a descriptor to be closed, or -1
/// where the disk might be asked, the kernel cannot tell (before Linux 5.12), or the file cannot be
/// opened.
int open_cached(const char* path) noexcept;

/// Reads bytes [offset, offset + bytes) if all of them are in the page cache; false otherwise.
/// Never waits for a disk.
bool read_cached(int file, std::byte* to, std::size_t bytes, std::uint64_t offset) noexcept;

}  // namespace headrace::inline v1::detail
