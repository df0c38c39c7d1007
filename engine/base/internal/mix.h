#pragma once

#include <cstdint>

namespace headrace::inline v1::detail {

/// Increment and finaliser of SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number
/// Generators", OOPSLA 2014): a bijection of 64 bits in which every bit depends on every bit.
constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// High and low half of a product of 64-bit numbers.
struct Product {
  std::uint64_t high;
  std::uint64_t low;
};

constexpr Product multiply(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
}

/// Uniform bits mapped to [0, n); a value's share is wrong by at most 2^-64.
constexpr std::uint64_t scale(std::uint64_t bits, std::uint64_t n) noexcept {
  return multiply(bits, n).high;
}

}  // namespace headrace::inline v1::detail
