#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/image_header.h>

#include <cstddef>
#include <memory>
#include <span>

namespace headrace::inline v1 {

/// PNG through libpng, always as 8-bit red-green-blue: 16 bits are scaled (v * 255 / 65535,
/// rounded), palettes and grey are expanded, alpha and transparent colours are dropped (not
/// composed), gamma and colour profiles are ignored. Used by one thread at a time. A broken or
/// cut-off file is a DataError; notes on optional chunks are not.
class HEADRACE_API PngDecoder {
 public:
  PngDecoder();
  ~PngDecoder();
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  /// Reads the header and keeps the file open for one decode; `file` must outlive it.
  ImageHeader open(std::span<const std::byte> file);
  /// Decodes the rows that `region` needs (interlaced files: all of them), full width. With
  /// `keeps_alpha` the fourth byte of a pixel is its alpha, which no colour is multiplied by.
  DecodedPixels decode(const Region& region, bool keeps_alpha = false);
  /// The same as stored values: of grey and palette files their samples, whatever their bits, of
  /// colour files the one value of all channels. Throws DataError where colours differ.
  DecodedLabels decode_labels(const Region& region);
  /// Bytes that either takes, counted from the header; 0 without an open file.
  std::size_t needed_bytes(const Region& region) const;
  /// Whether the open file has red, green and blue, or a palette of them, and alpha.
  bool has_coloured_alpha() const;
  /// Whether the open file has 8-bit red, green and blue.
  bool keeps_colours() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace::inline v1
