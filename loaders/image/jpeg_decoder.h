#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/image_header.h>
#include <headrace/loaders/image/jpeg_row.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace headrace::inline v1 {

/// JPEG through libjpeg-turbo (accurate DCT, smooth chroma upsampling): baseline and progressive,
/// grey, colour, CMYK and YCCK, all as red-green-blue. Used by one thread at a time; its memory is
/// kept from image to image. A file that makes the library warn, or that ends before its image
/// does, is a DataError: what was decoded of it is never handed out.
class HEADRACE_API JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  /// The calling thread's own decoder.
  static JpegDecoder& this_thread();

  /// Reads the header and keeps the file open for one decode; `file` must outlive it. Throws
  /// DataError for anything but an 8-bit JPEG within ImageLimits that has an end.
  ImageHeader open(std::span<const std::byte> file);

  /// The same for markers alone, which say what a part of an image is like (CropIndexedJpeg): its
  /// data is given to decode_part().
  ImageHeader open_part(std::span<const std::byte> markers);

  /// Whether the open file is of the kind that decoders in hardware take: sequential,
  /// Huffman-coded, one scan, grey or YCbCr with chroma of full or half resolution.
  bool is_plain() const noexcept;

  /// Decodes what `region` (stored, full-size pixels) needs at 1/scale (1, 2, 4 or 8) of the open
  /// file, and nothing after its last row. The pixels equal those of a whole decode at that scale.
  /// Throws DataError for a region that is not within the image.
  DecodedPixels decode(const Region& region, int scale);
  /// The same of the open part: one row for each of its rows of MCUs. Throws DataError where they
  /// do not fit the markers.
  DecodedPixels decode_part(const Region& region, int scale, std::span<const JpegRow> rows);

  /// Decodes the whole open file as packed RGB, rows of 3 * width bytes: the bytes of
  /// libjpeg-turbo's plain decode.
  void decode_whole(std::uint8_t* rgb);

  /// Bytes that libjpeg-turbo takes to decode any part of the open file: rows that it works on, and
  /// of a file of several scans the coefficients of the whole image.
  std::size_t library_bytes() const;
  /// Those of the rows alone, of an image so wide.
  static std::size_t line_bytes(int width) noexcept;
  /// Bytes of pixels that decode() takes at most for a region.
  static std::size_t pixel_bytes(const Region& region, int scale) noexcept;
  /// Bytes that the decoder holds.
  std::size_t bytes() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace::inline v1
