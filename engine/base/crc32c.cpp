#include <headrace/engine/base/internal/crc32c.h>

#include <array>
#include <cstring>

namespace headrace::inline v1::detail {
namespace {

using Crc32cTables = std::array<std::array<std::uint32_t, 256>, 8>;

/// Eight bytes at a time; table n is of a byte that n bytes follow.
constexpr Crc32cTables make_crc32c_tables() {
  constexpr std::uint32_t polynomial = 0x82f63b78U;
  Crc32cTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit)
      rest = (rest & 1U) != 0 ? rest >> 1 ^ polynomial : rest >> 1;
    tables[0][byte] = rest;
  }
  for (std::size_t n = 1; n < 8; ++n) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[n - 1][byte];
      tables[n][byte] = before >> 8 ^ tables[0][before & 255U];
    }
  }
  return tables;
}

constexpr Crc32cTables crc32c_tables = make_crc32c_tables();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  std::uint32_t crc = ~std::uint32_t{0};
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    word ^= crc;
    crc = 0;
    for (std::size_t n = 0; n < 8; ++n)
      crc ^= crc32c_tables[7 - n][word >> (8 * n) & 255U];
    bytes = bytes.subspan(8);
  }
  for (const std::byte byte : bytes)
    crc = crc >> 8 ^ crc32c_tables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 255U];
  return ~crc;
}

}  // namespace headrace::inline v1::detail
