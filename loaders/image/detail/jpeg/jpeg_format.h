#pragma once

#include <headrace/loaders/image/crop_indexed_jpeg.h>
#include <headrace/loaders/image/format_decoder.h>
#include <headrace/loaders/image/jpeg_decoder.h>

namespace headrace::inline v1::detail {

/// JPEG files, with a crop index or without.
class JpegFormat final : public FormatDecoder {
 public:
  ImageHeader open(std::span<const std::byte> file) override;
  DecodedPixels decode(const Region& region, int scale) override;
  DecodedLabels decode_labels(const Region& region) override;
  std::size_t needed_bytes(const Region& region, int scale) const override;
  void check(const Region& whole) override;
  bool scales() const override { return true; }
  bool decode_whole(std::uint8_t* rgb) override;
  bool suits_device() const override { return !indexed_ && jpeg_.is_plain(); }

 private:
  DecodedPixels decode_part(const Region& region, int scale);

  bool indexed_ = false;
  CropIndexedJpeg parts_;
  JpegDecoder jpeg_;
};

}  // namespace headrace::inline v1::detail
