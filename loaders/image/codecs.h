#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/image_header.h>

namespace headrace::inline v1 {

/// WebP and BMP (alpha dropped) through the module
/// headrace_opencv_codecs, which is opened on first use, so that nobody else loads OpenCV's codecs.
/// Used by one thread at a time.
class HEADRACE_API CodecsDecoder {
 public:
  CodecsDecoder();
  ~CodecsDecoder();
  CodecsDecoder(const CodecsDecoder&) = delete;
  CodecsDecoder& operator=(const CodecsDecoder&) = delete;

  /// Reads width and height from the file's header, without the module. Throws DataError for other
  /// formats.
  ImageHeader open(std::span<const std::byte> file);
  /// Decodes the whole open file. Throws DataError naming the format where the module cannot be
  /// found.
  DecodedPixels decode();
  /// The same as labels: the indices of a BMP with a palette, otherwise the one value of all
  /// channels. Throws DataError for colours and for lossy WebP.
  DecodedLabels decode_labels();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace::inline v1
