#pragma once

#include <cstdint>
#include <string_view>

#include <ATen/Functions.h>

namespace headrace::test {

/// FNV-1a of 64 bits.
inline std::uint64_t hashed(std::string_view text) {
  std::uint64_t state = 0xCBF29CE484222325ULL;
  for (const char letter : text)
    state = (state ^ static_cast<unsigned char>(letter)) * 0x100000001B3ULL;
  return state;
}

/// float64 values offset + scale * u, u in [-1, 1) by splitmix64 from the hash of the name: what
/// `fill` of reference/make_nnunet_values.py gives.
inline at::Tensor hashed_fill(std::string_view name, at::IntArrayRef sizes, double offset,
                              double scale) {
  const at::Tensor filled = at::empty(sizes, at::kDouble);
  auto* values = filled.data_ptr<double>();
  std::uint64_t state = hashed(name);
  for (std::int64_t index = 0; index < filled.numel(); ++index) {
    state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
    values[index] = offset + scale * (static_cast<double>(z >> 11) * 0x1p-52 - 1.0);
  }
  return filled;
}

}  // namespace headrace::test
