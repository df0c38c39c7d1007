#pragma once

#include <headrace/loaders/image/detail/jpeg/jpeg_error.h>

#include <cstddef>
#include <span>

namespace headrace::inline v1::detail {

/// Makes it the source of a decoder that reads a file in memory: where more is asked for than there
/// is, the image ends with an error. Its bytes are set for each file.
void make_memory_source(jpeg_source_mgr& source) noexcept;

/// Whether an end marker stands somewhere in what follows the headers.
bool has_end_marker(std::span<const std::byte> scans) noexcept;

/// Whether so few bytes can be all of the image whose header was read: Huffman codes take a bit a
/// block at least, arithmetic ones less. Before memory is taken for coefficients that never come.
bool can_hold(const jpeg_decompress_struct& info, std::size_t bytes) noexcept;

}  // namespace headrace::inline v1::detail
