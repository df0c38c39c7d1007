#include <headrace/loaders/image/detail/file_numbers.h>
#include <headrace/loaders/image/exif.h>

#include <cstdint>
#include <cstring>

namespace headrace::inline v1 {
namespace {

int orientation_of(std::span<const std::byte> tiff) noexcept {
  const bool little_endian = tiff.size() > 1 && tiff[0] == std::byte{'I'};
  const detail::FileNumbers block{tiff, !little_endian};
  if (block.at(2, 2) != 42) return 1;
  const std::size_t ifd = block.at(4, 4);
  const std::uint32_t entries = block.at(ifd, 2);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = ifd + 2 + std::size_t{12} * i;
    if (entry + 12 > tiff.size()) return 1;
    if (block.at(entry, 2) != 0x0112) continue;
    const std::uint32_t value = block.at(entry + 8, 2);
    const bool is_short = block.at(entry + 2, 2) == 3;
    return is_short && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace

int exif_orientation(std::span<const std::byte> jpeg) noexcept {
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(jpeg[i]); };
  std::size_t at = 2;
  while (at + 4 <= jpeg.size() && byte(at) == 0xff) {
    const unsigned marker = byte(at + 1);
    if (marker == 0xff) {
      ++at;
      continue;
    }
    if (marker == 0xda || marker == 0xd9) return 1;
    const std::size_t length = byte(at + 2) << 8 | byte(at + 3);
    if (length < 2 || at + 2 + length > jpeg.size()) return 1;
    const auto body = jpeg.subspan(at + 4, length - 2);
    if (marker == 0xe1 && body.size() > 14 && std::memcmp(body.data(), "Exif\0\0", 6) == 0) {
      return orientation_of(body.subspan(6));
    }
    at += 2 + length;
  }
  return 1;
}

}  // namespace headrace::inline v1
