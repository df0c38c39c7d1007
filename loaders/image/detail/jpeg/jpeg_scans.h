#pragma once

#include <headrace/loaders/image/detail/jpeg/jpeg_error.h>

#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

/// The scans of a JPEG while libjpeg-turbo reads them: counts them and the blocks that they go
/// over, and ends the image beyond ImageLimits::scans or ImageLimits::scan_blocks. A scan of
/// nothing but zeros is a few bytes of a file and a pass over the whole image.
class JpegScans {
 public:
  /// Has the decoder tell of its progress; must outlive it.
  void attach(jpeg_decompress_struct& info) noexcept;
  /// For the next image.
  void begin() noexcept;

 private:
  static void look(j_common_ptr info);

  jpeg_progress_mgr base_{};  // first: the library hands out a pointer to it
  int scan_ = 0;              ///< the last one that was counted
  std::int64_t blocks_ = 0;
};

/// For an image all of whose scans were read: ends it unless they brought every coefficient to its
/// full precision. libjpeg-turbo would guess what is missing, and say nothing.
void require_all_scans(jpeg_decompress_struct& info);

/// Bytes of the coefficients that the library holds of the image whose header was read: of all
/// blocks where a file may have several scans, else none.
std::size_t coefficient_bytes(const jpeg_decompress_struct& info);

}  // namespace headrace::inline v1::detail
