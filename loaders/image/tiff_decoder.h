#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/image_header.h>

#include <cstddef>
#include <memory>
#include <span>

namespace headrace::inline v1 {

/// TIFF and BigTIFF through libtiff, of one page beside smaller copies and masks of it: strips and
/// tiles, samples of 1, 2, 4, 8 and 16 bits, together or in planes; grey, palette, colour and CMYK;
/// uncompressed, PackBits, LZW, deflate, Zstandard, CCITT and JPEG. As 8-bit red-green-blue,
/// converted as PngDecoder does; alpha is dropped. Further bands or pages, other kinds, and files
/// that are broken or cut off, are a DataError; libtiff's notes on odd tags are not. Used by one
/// thread at a time.
class HEADRACE_API TiffDecoder {
 public:
  TiffDecoder();
  ~TiffDecoder();
  TiffDecoder(const TiffDecoder&) = delete;
  TiffDecoder& operator=(const TiffDecoder&) = delete;

  /// Reads the header and keeps the file open for one decode; `file` must outlive it. The
  /// orientation is that of tag 274.
  ImageHeader open(std::span<const std::byte> file);
  /// Decodes the strips or tiles that `region` lies in.
  DecodedPixels decode(const Region& region);
  /// Bytes that this takes, counted from the header; 0 without an open file.
  std::size_t needed_bytes(const Region& region) const;
  /// The same as stored values: of grey and palette files their samples, of colour files the one
  /// value of all channels.
  DecodedLabels decode_labels(const Region& region);
  /// Whether the open file has 8-bit red, green and blue, without loss.
  bool keeps_colours() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace::inline v1
