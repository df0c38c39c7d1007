#pragma once

#include <headrace/loaders/image/format_decoder.h>
#include <headrace/loaders/image/image_header.h>
#include <headrace/loaders/image/pixel_buffer.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace headrace::inline v1::detail {

/// A file that OpenCV's codecs decode (alpha dropped), through the module headrace_opencv_codecs,
/// which is opened on first use, so that nobody else loads them. Used by one thread at a time.
class ModulePicture {
 public:
  /// Takes a file whose sides were read from its header; `format` is its name in messages. Throws
  /// DataError for sides beyond ImageLimits.
  ImageHeader open(std::span<const std::byte> file, std::string_view format, std::int64_t width,
                   std::int64_t height);

  /// Decodes the whole open file. Throws DataError, and ConfigError naming format, module and
  /// package where the module cannot be opened: no other file would fare better.
  DecodedPixels decode();
  /// The one value of all channels. Throws DataError for colours.
  DecodedLabels decode_labels();

  /// Room for the labels of who reads them himself, and what he wrote there.
  std::uint16_t* label_room();
  DecodedLabels labels() const;

  std::span<const std::byte> file() const noexcept { return file_; }
  const ImageHeader& header() const noexcept { return header_; }

 private:
  std::span<const std::byte> file_;
  ImageHeader header_;
  PixelBuffer pixels_;
  PixelBuffer labels_;
};

/// The decoder of a format that OpenCV's codecs know: always the whole picture.
class ModuleDecoder : public FormatDecoder {
 public:
  /// Our pixels, and OpenCV's picture twice over: a codec may have one of its own.
  std::size_t needed_bytes(const Region& /*region*/, int /*scale*/) const final {
    const ImageHeader& header = picture_.header();
    return std::size_t{4 + 2 * 4} * static_cast<std::size_t>(header.width) *
           static_cast<std::size_t>(header.height);
  }
  DecodedPixels decode(const Region& /*region*/, int /*scale*/) final { return picture_.decode(); }

 protected:
  ModulePicture picture_;
};

}  // namespace headrace::inline v1::detail
