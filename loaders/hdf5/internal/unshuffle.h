#pragma once

#include <cstddef>
#include <span>

namespace headrace::inline v1::detail {

/// Puts the bytes of elements together again: `from` holds byte 0 of all elements, then byte 1, and
/// so on; what is left over after whole elements stays as it is. Same bytes on every vector width.
void unshuffle(std::span<const std::byte> from, std::size_t element, std::byte* to) noexcept;
/// The same for the elements [first, first + count) alone; `from` holds whole elements.
void unshuffle(std::span<const std::byte> from, std::size_t element, std::size_t first,
               std::size_t count, std::byte* to) noexcept;

/// Puts the bits of elements together again: for byte j and bit b, `from` holds that bit of all
/// elements, eight a byte, the first lowest. Their number is a multiple of eight. `planes` is
/// working memory of as many bytes.
void bit_unshuffle(std::span<const std::byte> from, std::size_t element, std::byte* planes,
                   std::byte* to) noexcept;

/// unshuffle() on one of the vector targets of this machine; false when there is none of that
/// number. For tests.
bool unshuffle_on(int target, std::span<const std::byte> from, std::size_t element, std::byte* to);

}  // namespace headrace::inline v1::detail
