#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// Whether a Windows bitmap of the usual header (40 bytes and more) keeps 1, 4 or 8 bits a pixel,
/// uncompressed: the indices of a palette.
bool is_indexed_bmp(std::span<const std::byte> file) noexcept;

/// The indices of such a file, top row first, width * height of them. Throws DataError where the
/// file ends before its image does.
void read_indexed_bmp(std::span<const std::byte> file, int width, int height, std::uint16_t* out);

}  // namespace headrace::inline v1::detail
