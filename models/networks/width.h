#pragma once

#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace headrace::inline v1::models {

/// A count of channels times a network's width factor, rounded to a multiple of eight or another
/// number, at least eight. Throws `ConfigError` for a factor outside (0, 8].
inline std::int64_t scaled_channels(std::int64_t channels, double width,
                                    std::int64_t multiple = 8) {
  if (!(width > 0.0 && width <= 8.0))
    throw ConfigError("[network] width must be above 0 and at most 8, got " +
                      std::to_string(width));
  const double scaled = static_cast<double>(channels) * width;
  return std::max<std::int64_t>(8, multiple * std::llround(scaled / static_cast<double>(multiple)));
}

}  // namespace headrace::inline v1::models
