#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>

namespace headrace::inline v1 {

/// A colour of a mask and the label that it stands for.
struct MaskColour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  std::uint16_t label = 0;

  friend bool operator==(const MaskColour&, const MaskColour&) = default;
};

/// Throws ConfigError naming `who` for a colour that comes twice.
HEADRACE_API void check_mask_colours(std::span<const MaskColour> colours, const char* who);

}  // namespace headrace::inline v1
