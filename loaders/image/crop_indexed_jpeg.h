#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/image/image_header.h>
#include <headrace/loaders/image/jpeg_row.h>

#include <cstddef>
#include <memory>
#include <span>

namespace headrace::inline v1 {

/// A baseline JPEG that is followed by an index of its entropy-coded data (docs/pack-format.md), so
/// that any part of it can be decoded by itself: the index says where the part's rows begin, and
/// with which DC values. Decoding the part costs what the part costs, and its pixels are those of
/// the whole. Any other decoder reads the file too and ignores the index. Used by one thread at a
/// time; its memory is kept from image to image.
class HEADRACE_API CropIndexedJpeg {
 public:
  CropIndexedJpeg();
  ~CropIndexedJpeg();
  CropIndexedJpeg(const CropIndexedJpeg&) = delete;
  CropIndexedJpeg& operator=(const CropIndexedJpeg&) = delete;

  /// Whether the bytes end as such a file does.
  static bool recognises(std::span<const std::byte> file) noexcept;

  /// Reads the headers of index and image; `file` must outlive what follows. Throws DataError where
  /// the index is damaged, claims what cannot be, or is not that of its image.
  ImageHeader open(std::span<const std::byte> file);

  /// Reads the coded data of the open file once and holds every entry of its index against it.
  /// Throws DataError where they differ.
  void check() const;

  /// The open file without its index.
  std::span<const std::byte> jpeg() const noexcept;

  struct Part {
    std::span<const std::byte> markers;  ///< for JpegDecoder::open_part()
    std::span<const JpegRow> rows;       ///< for its decode_part()
    int x = 0;                           ///< of its first column in the whole image
    int y = 0;
  };
  /// The part, valid until the next call, that decoding `region` (stored, full-size pixels) at
  /// 1/scale needs. Throws DataError where index and image do not fit each other.
  Part part(const Region& region, int scale);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headrace::inline v1
