#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace headrace::inline v1::detail {

/// 128 bits of some bytes, to tell contents apart: not against somebody who looks for two that are
/// alike. The same on every little-endian machine.
struct ContentHash {
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  friend bool operator==(const ContentHash&, const ContentHash&) = default;
};

/// Both halves of the product folded into one.
inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Words of 16 bytes, the last filled up with zeros, then the length, go through two chains of
/// folded products (as in Wang Yi's wyhash).
inline ContentHash hash_content(std::span<const std::byte> bytes) {
  ContentHash hash{0x9e3779b97f4a7c15ULL, 0xbf58476d1ce4e5b9ULL};
  const auto mix = [&](std::uint64_t a, std::uint64_t b) {
    hash.first = folded_product(hash.first ^ a ^ 0xa0761d6478bd642fULL, b ^ 0xe7037ed1a0b428dbULL);
    hash.second =
        folded_product(hash.second ^ b ^ 0x8ebc6af09c88c6e3ULL, a ^ 0x589965cc75374cc3ULL);
    hash.first += a;  // a product of 0 forgets nothing
    hash.second += b;
  };
  const std::size_t whole = bytes.size() / 16 * 16;
  std::uint64_t words[2];
  for (std::size_t i = 0; i < whole; i += 16) {
    std::memcpy(words, bytes.data() + i, 16);
    mix(words[0], words[1]);
  }
  words[0] = words[1] = 0;
  if (bytes.size() > whole) std::memcpy(words, bytes.data() + whole, bytes.size() - whole);
  mix(words[0], words[1]);
  mix(bytes.size(), hash.first ^ hash.second);
  mix(hash.second, hash.first);
  return hash;
}

/// 32 hexadecimal digits.
std::string to_hex(const ContentHash& hash);

}  // namespace headrace::inline v1::detail
