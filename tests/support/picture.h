#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace headrace::test {

using Pixels = std::vector<std::uint8_t>;

/// Waves, an edge and some noise: every pixel differs from its neighbours, none from run to run.
/// Values stored in tests were made from it.
inline Pixels picture(int width, int height, int channels, unsigned seed = 1) {
  Pixels pixels;
  unsigned state = seed * 2654435761U + 1;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        state = state * 1664525U + 1013904223U;
        int v = (x * (3 + c) + y * (5 - c) + static_cast<int>(seed) * 40) % 256;
        v = v < 128 ? 2 * v : 511 - 2 * v;
        if (x + y > (width + height) / 2) v = 255 - v;
        v += static_cast<int>(state >> 28) - 8;
        pixels.push_back(static_cast<std::uint8_t>(std::clamp(v, 0, 255)));
      }
    }
  }
  return pixels;
}

}  // namespace headrace::test
