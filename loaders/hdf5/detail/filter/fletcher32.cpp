#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/filter/filters.h>

#include <algorithm>
#include <string>

namespace headrace::inline v1::detail {

std::uint32_t fletcher32(std::span<const std::byte> bytes) noexcept {
  // So many words fit before the sums must be folded.
  constexpr std::size_t most_words = 360;
  const auto fold = [](std::uint32_t sum) { return (sum & 0xffffU) + (sum >> 16); };
  const auto* at = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::uint32_t one = 0, two = 0;
  for (std::size_t words = bytes.size() / 2; words > 0;) {
    const std::size_t now = std::min(words, most_words);
    for (std::size_t i = 0; i < now; ++i, at += 2) {
      one += static_cast<std::uint32_t>(at[0]) << 8 | at[1];
      two += one;
    }
    one = fold(one);
    two = fold(two);
    words -= now;
  }
  if (bytes.size() % 2 != 0) {
    one = fold(one + (static_cast<std::uint32_t>(*at) << 8));
    two = fold(two + one);
  }
  return fold(two) << 16 | fold(one);
}

std::span<const std::byte> checked_fletcher32(std::span<const std::byte> from) {
  constexpr std::size_t sum_bytes = 4;
  if (from.size() < sum_bytes)
    throw DataError("a chunk ends inside its checksum; the file is damaged");
  const auto data = from.first(from.size() - sum_bytes);
  std::uint32_t stored = 0;
  for (std::size_t i = 0; i < sum_bytes; ++i)
    stored |= std::to_integer<std::uint32_t>(from[data.size() + i]) << 8 * i;
  const std::uint32_t sum = fletcher32(data);
  // Versions before 1.6.3 on little-endian machines wrote the bytes of both halves reversed.
  const std::uint32_t reversed = (sum & 0x00ff00ffU) << 8 | (sum >> 8 & 0x00ff00ffU);
  if (stored != sum && stored != reversed)
    throw DataError("a chunk does not have the bytes its checksum says; the file is damaged");
  return data;
}

}  // namespace headrace::inline v1::detail
