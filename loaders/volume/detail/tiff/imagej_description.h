#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headrace::inline v1::detail {

/// What ImageJ says of a stack in the description of a TIFF file's first page.
struct ImageJStack {
  std::int64_t images = 1;  ///< pages
  std::int64_t channels = 1, slices = 1, frames = 1;
  double spacing = 0.0;  ///< from slice to slice, in `unit`; 0: it does not say
  double unit = 1.0;     ///< in millimetres; 1 for units that are no lengths
};

/// Nothing unless the description is ImageJ's. Numbers that are none, or not above 0, count as
/// not said.
std::optional<ImageJStack> imagej_stack(std::string_view description) noexcept;

}  // namespace headrace::inline v1::detail
