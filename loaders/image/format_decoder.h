#pragma once

#include <headrace/loaders/image/image_header.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1 {

/// What ImageDecoder asks of the decoder of a format (image_formats.h). Used by one thread at a
/// time; what it holds is kept from file to file.
class FormatDecoder {
 public:
  FormatDecoder() = default;
  virtual ~FormatDecoder() = default;
  FormatDecoder(const FormatDecoder&) = delete;
  FormatDecoder& operator=(const FormatDecoder&) = delete;

  /// Reads the header and keeps the file for one decode; `file` must outlive it. Throws DataError.
  virtual ImageHeader open(std::span<const std::byte> file) = 0;
  /// Pixels of the open file, of `region` (stored, full-size pixels) at least, at 1/scale; `scale`
  /// is 1 but for a decoder that scales(). Throws DataError.
  virtual DecodedPixels decode(const Region& region, int scale) = 0;
  /// The same as stored values at full size. Throws DataError also where the file keeps none.
  virtual DecodedLabels decode_labels(const Region& region) = 0;

  /// Bytes that the decoder will hold for decode() of the open file, beside the file: counted from
  /// its header, nothing is taken for it. An empty region: what is held whatever the region.
  virtual std::size_t needed_bytes(const Region& region, int scale) const = 0;
  /// Reads all of the open file, `whole` its region, and throws DataError for damage that decode()
  /// of a part does not see. In the place of a decode: open() again for pixels. Gives them where
  /// it decoded all.
  virtual DecodedPixels check(const Region& whole) { return decode(whole, scales() ? 8 : 1); }

  /// Whether the open file keeps 8-bit red, green and blue exactly, so that decode() gives them.
  virtual bool keeps_colours() const { return false; }
  /// Whether decode() reduces by 2, 4 and 8.
  virtual bool scales() const { return false; }
  /// Writes the whole open file as packed RGB; false: it has no such way, decode() it.
  virtual bool decode_whole(std::uint8_t* /*rgb*/) { return false; }
  /// Whether the open file is one for nvJPEG.
  virtual bool suits_device() const { return false; }
};

}  // namespace headrace::inline v1
