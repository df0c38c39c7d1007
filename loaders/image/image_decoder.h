#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <headrace/engine/export.h>
#include <headrace/loaders/image/codecs.h>
#include <headrace/loaders/image/crop.h>
#include <headrace/loaders/image/jpeg_decoder.h>
#include <headrace/loaders/image/png_decoder.h>
#include <headrace/loaders/image/resize.h>

namespace headrace::inline v1 {

/// One thread's decoders, chosen by a file's content. What DecodeImage does, as plain calls:
/// `header = decoder.open(file)`, draw a window from it, `decoder.decode(window, target)`.
class HEADRACE_API ImageDecoder {
 public:
  /// Where a window of the shown picture goes and how.
  struct Target {
    std::uint8_t* rgb = nullptr;  ///< packed, 3 * width bytes a row
    int height = 0;
    int width = 0;
    Resample resample = Resample::antialias;
    bool flip = false;     ///< left to right
    bool prescale = true;  ///< JPEG: decode at 1/2, 1/4 or 1/8 where that still covers the target
  };

  /// The calling thread's own.
  static ImageDecoder& this_thread();

  /// Reads the header; `file` must outlive the decode. Throws DataError.
  ImageHeader open(std::span<const std::byte> file);
  /// Decodes only what the window needs, resizes and writes it as it is to be shown (EXIF
  /// orientation applied). Once for each open(). Throws DataError; then the target may hold
  /// anything.
  void decode(const ImageWindow& window, const Target& target);

 private:
  DecodedPixels pixels_of(const Region& region, int scale);

  ImageHeader header_;
  JpegDecoder jpeg_;
  PngDecoder png_;
  CodecsDecoder codecs_;
};

}  // namespace headrace::inline v1
