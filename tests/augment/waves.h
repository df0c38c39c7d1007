#pragma once

#include <cstdint>
#include <vector>

namespace headrace::test {

/// The upper bits of a linear congruential generator, in [-1, 1); values stored in the tests of
/// audio were made from it.
inline std::vector<double> noise(std::size_t count, std::uint32_t seed) {
  std::vector<double> values;
  std::uint32_t state = seed;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    values.push_back(static_cast<double>(state >> 8) / 8388608.0 - 1.0);
  }
  return values;
}

/// A sawtooth of 256 Hz at 4096 Hz, every second half louder, and noise.
inline std::vector<float> wave(std::size_t count) {
  const std::vector<double> hiss = noise(count, 7);
  std::vector<float> values;
  for (std::size_t n = 0; n < count; ++n) {
    const double saw = static_cast<double>(n % 16) / 8.0 - 1.0;
    const double loud = 0.2 + 0.6 * static_cast<double>(n / 512 % 2);
    values.push_back(static_cast<float>(loud * saw + 0.05 * hiss[n]));
  }
  return values;
}

}  // namespace headrace::test
