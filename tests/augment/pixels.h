#pragma once

#include <headrace/engine/sample/sample.h>
#include <headrace/tests/support/picture.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace headrace::test {

/// Every level, in no order.
inline Pixels noise(int width, int height, int channels, unsigned seed = 1) {
  Pixels pixels;
  unsigned state = seed;
  for (int i = 0; i < width * height * channels; ++i) {
    state = state * 1664525U + 1013904223U;
    pixels.push_back(static_cast<std::uint8_t>(state >> 24));
  }
  return pixels;
}

/// The largest difference of two pictures; 256 where they have not the same size.
inline int most_apart(const Pixels& a, const Pixels& b) {
  if (a.size() != b.size()) return 256;
  int most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

inline Sample sample_of(const Pixels& pixels, int height, int width, int channels) {
  Sample sample;
  sample.set("image",
             Tensor::of(std::span<const std::uint8_t>(pixels), Shape{height, width, channels}));
  return sample;
}

inline Pixels pixels_of(const Sample& sample) {
  const auto values = sample["image"].values<std::uint8_t>();
  return {values.begin(), values.end()};
}

inline Schema picture_schema(int height, int width, int channels) {
  return {FieldSpec::fixed("image", DType::uint8, Shape{height, width, channels}),
          FieldSpec::fixed("label", DType::int64, Shape{})};
}

}  // namespace headrace::test
