#include <headrace/loaders/image/detail/indexed_bmp.h>

#include <headrace/engine/base/error.h>

namespace headrace::inline v1::detail {
namespace {

std::uint32_t little(std::span<const std::byte> file, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = count; i-- > 0;)
    value = value << 8 | std::to_integer<std::uint32_t>(file[at + i]);
  return value;
}

}  // namespace

bool is_indexed_bmp(std::span<const std::byte> file) noexcept {
  if (file.size() < 54 || little(file, 14, 4) < 40) return false;
  const std::uint32_t bits = little(file, 28, 2);
  return little(file, 30, 4) == 0 && (bits == 1 || bits == 4 || bits == 8);
}

void read_indexed_bmp(std::span<const std::byte> file, int width, int height, std::uint16_t* out) {
  const std::uint32_t bits = little(file, 28, 2);
  const bool top_first = (little(file, 22, 4) >> 31) != 0;
  const std::size_t start = little(file, 10, 4);
  const std::size_t row_bytes = (static_cast<std::size_t>(width) * bits + 31) / 32 * 4;
  const auto rows = static_cast<std::size_t>(height);
  if (start > file.size() || (file.size() - start) / row_bytes < rows) {
    throw DataError("BMP: the file ends before its image does");
  }
  for (std::size_t y = 0; y < rows; ++y) {
    const auto row = file.subspan(start + row_bytes * (top_first ? y : rows - 1 - y), row_bytes);
    for (std::size_t x = 0; x < static_cast<std::size_t>(width); ++x) {
      const std::size_t bit = x * bits;
      const auto shift = static_cast<unsigned>(8 - bits - bit % 8);
      *out++ = static_cast<std::uint16_t>(std::to_integer<unsigned>(row[bit / 8]) >> shift &
                                          ((1U << bits) - 1));
    }
  }
}

}  // namespace headrace::inline v1::detail
