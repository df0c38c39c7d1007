#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/bmp_decoder.h>
#include <headrace/loaders/image/detail/codec_module.h>
#include <headrace/loaders/image/detail/file_numbers.h>

#include <cstdint>
#include <cstdlib>

namespace headrace::inline v1::detail {
namespace {

/// Whether a bitmap of the usual header (40 bytes and more) keeps 1, 4 or 8 bits a pixel,
/// uncompressed: the indices of a palette.
bool is_indexed(const FileNumbers& file) noexcept {
  if (file.file.size() < 54 || file.at(14, 4) < 40) return false;
  const std::uint32_t bits = file.at(28, 2);
  return file.at(30, 4) == 0 && (bits == 1 || bits == 4 || bits == 8);
}

/// The indices of such a file, top row first, width * height of them.
void read_indices(const FileNumbers& file, const ImageHeader& header, std::uint16_t* out) {
  const std::uint32_t bits = file.at(28, 2);
  const bool top_first = (file.at(22, 4) >> 31) != 0;
  const std::size_t start = file.at(10, 4);
  const std::size_t row_bytes = (static_cast<std::size_t>(header.width) * bits + 31) / 32 * 4;
  const auto rows = static_cast<std::size_t>(header.height);
  const std::span<const std::byte> bytes = file.file;
  if (start > bytes.size() || (bytes.size() - start) / row_bytes < rows) {
    throw DataError("BMP: the file ends before its image does");
  }
  for (std::size_t y = 0; y < rows; ++y) {
    const auto row = bytes.subspan(start + row_bytes * (top_first ? y : rows - 1 - y), row_bytes);
    for (std::size_t x = 0; x < static_cast<std::size_t>(header.width); ++x) {
      const std::size_t bit = x * bits;
      const auto shift = static_cast<unsigned>(8 - bits - bit % 8);
      *out++ = static_cast<std::uint16_t>(std::to_integer<unsigned>(row[bit / 8]) >> shift &
                                          ((1U << bits) - 1));
    }
  }
}

class BmpDecoder final : public ModuleDecoder {
 public:
  /// Reads the sides from the file's header, without the module.
  ImageHeader open(std::span<const std::byte> bytes) override;
  DecodedLabels decode_labels(const Region& region) override;
  bool keeps_colours() const override { return !is_indexed({picture_.file()}); }
};

ImageHeader BmpDecoder::open(std::span<const std::byte> bytes) {
  const FileNumbers file{bytes};
  if (file.at(14, 4) == 12) return picture_.open(bytes, "BMP", file.at(18, 2), file.at(20, 2));
  const auto height = static_cast<std::int32_t>(file.at(22, 4));
  return picture_.open(bytes, "BMP", static_cast<std::int32_t>(file.at(18, 4)),
                       std::abs(std::int64_t{height}));
}

DecodedLabels BmpDecoder::decode_labels(const Region& /*region*/) {
  const FileNumbers file{picture_.file()};
  if (!is_indexed(file)) return picture_.decode_labels();
  read_indices(file, picture_.header(), picture_.label_room());
  return picture_.labels();
}

}  // namespace

std::unique_ptr<FormatDecoder> make_bmp_decoder() {
  return std::make_unique<BmpDecoder>();
}

}  // namespace headrace::inline v1::detail
