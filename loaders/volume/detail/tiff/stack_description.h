#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

/// What a description is read against.
struct StackFacts {
  std::int64_t pages = 1;                      ///< directories of the file
  std::int64_t width = 1, height = 1;          ///< of a page
  std::array<double, 2> resolution{0.0, 0.0};  ///< pixels per unit along y, x; 0: not told
};

/// What a program says of a TIFF file in the description of its first page.
struct StackDescription {
  std::int64_t channels = 1, slices = 1, frames = 1;
  bool slices_first = false;  ///< a channel's slices follow each other, not a slice's channels
  std::array<double, 3> spacing{1.0, 1.0, 1.0};  ///< millimetres along z, y, x; 1: not told
  /// The page of each plane, where these do not come in order.
  std::vector<std::size_t> pages{};

  bool in_one_piece = false;  ///< all planes follow the one directory's

  /// Planes in all; the largest number where that is more.
  std::int64_t planes() const noexcept;
};

/// Of ImageJ, of OME-TIFF and of tifffile; nothing of others. Throws DataError with the rule alone
/// where it cannot be right.
std::optional<StackDescription> stack_description(std::string_view text, const StackFacts& facts);

}  // namespace headrace::inline v1::detail
