#pragma once

#include <headrace/loaders/image/resize.h>

#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

/// What a device is to do for one sample: decode a JPEG and show a window of it. All zero: nothing.
struct DevicePicture {
  std::uint64_t pixels = 0;  ///< where its decoded pixels begin, once that is known
  std::uint32_t file_bytes = 0;
  std::int32_t width = 0;  ///< of the stored picture
  std::int32_t height = 0;
  std::int32_t transposed = 0;  ///< shown rows are stored columns
  ResizeAxis x{};               ///< of the stored picture
  ResizeAxis y{};

  std::size_t row_bytes() const { return 3 * static_cast<std::size_t>(width); }
  std::size_t bytes() const { return row_bytes() * static_cast<std::size_t>(height); }
};

/// Largest picture that a device decodes, and memory for a batch's: so much a row, but for one such
/// picture at least. What does not fit at once is decoded part by part.
struct DeviceJpegLimits {
  static constexpr std::size_t picture_bytes = std::size_t{24} << 20;
  static constexpr std::size_t scratch_row_bytes = std::size_t{3} << 20;
  static constexpr std::size_t scratch_bytes = std::size_t{192} << 20;
};

/// The kernel "headrace_resize_pictures": from decoded pictures to the rows of a batch, the bytes
/// of resize_to_rgb(). Pictures of no file bytes are left out. All memory is the device's.
struct ResizePictures {
  const DevicePicture* pictures = nullptr;
  std::int64_t count = 0;
  const std::uint8_t* pixels = nullptr;  ///< packed, at the pictures' places
  std::uint8_t* out = nullptr;           ///< [count, height, width, 3]
  std::int32_t height = 0;
  std::int32_t width = 0;
  Resample resample = Resample::antialias;
};

}  // namespace headrace::inline v1::detail
