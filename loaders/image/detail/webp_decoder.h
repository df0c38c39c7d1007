#pragma once

#include <headrace/loaders/image/detail/codec_module.h>

#include <cstddef>
#include <span>

namespace headrace::inline v1::detail {

/// WebP, always the whole picture. Used by one thread at a time.
class WebpDecoder {
 public:
  /// Reads the sides from the file's header, without the module. Throws DataError.
  ImageHeader open(std::span<const std::byte> file);
  DecodedPixels decode(const Region& /*region*/) { return picture_.decode(); }
  /// Of lossless files. Throws DataError for lossy ones and for colours.
  DecodedLabels decode_labels(const Region& region);

 private:
  ModulePicture picture_;
};

}  // namespace headrace::inline v1::detail
