#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/codec_module.h>
#include <headrace/loaders/image/detail/file_numbers.h>
#include <headrace/loaders/image/detail/webp_decoder.h>

#include <cstdint>

namespace headrace::inline v1::detail {
namespace {

/// Whether some frame of the file is of the lossy kind.
bool is_lossy(const FileNumbers& file) {
  for (std::size_t at = 12; at + 8 <= file.file.size();) {
    if (file.has(at, "VP8 ")) return true;
    at += 8 + (std::size_t{file.at(at + 4, 4)} + 1) / 2 * 2;
  }
  return false;
}

/// OpenCV gives a file to the first of its codecs that knows it. Where WebP's does not, two may
/// that look behind the first bytes: DICOM's, which ends the process, and GDAL's.
void require_own(const FileNumbers& file) {
  if (!file.has(128, "DICM") && !file.has(140, "DTED")) return;
  throw DataError("WebP: has the mark of a DICOM or DTED file inside; convert it to PNG");
}

class WebpDecoder final : public ModuleDecoder {
 public:
  /// Reads the sides from the file's header, without the module.
  ImageHeader open(std::span<const std::byte> bytes) override;
  DecodedLabels decode_labels(const Region& region) override;
  bool keeps_colours() const override { return !is_lossy({picture_.file()}); }
};

ImageHeader WebpDecoder::open(std::span<const std::byte> bytes) {
  if (bytes.size() < 32) throw DataError("WebP: the file ends before its image does");
  const FileNumbers file{bytes};
  require_own(file);
  if (file.has(12, "VP8X"))
    return picture_.open(bytes, "WebP", file.at(24, 3) + 1, file.at(27, 3) + 1);
  if (file.has(12, "VP8L")) {
    const std::uint32_t bits = file.at(21, 4);
    return picture_.open(bytes, "WebP", (bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1);
  }
  return picture_.open(bytes, "WebP", file.at(26, 2) & 0x3fff, file.at(28, 2) & 0x3fff);
}

DecodedLabels WebpDecoder::decode_labels(const Region& /*region*/) {
  if (is_lossy({picture_.file()}))
    throw DataError("WebP: a lossy file keeps no labels; store masks as PNG");
  return picture_.decode_labels();
}

}  // namespace

std::unique_ptr<FormatDecoder> make_webp_decoder() {
  return std::make_unique<WebpDecoder>();
}

}  // namespace headrace::inline v1::detail
