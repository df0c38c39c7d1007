#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>

namespace headrace::inline v1 {

/// How pixels are put together when a picture changes its size. Both sample at half-pixel centres.
enum class Resample : unsigned char {
  /// Triangle filter as wide as the reduction (Pillow's and torchvision's "bilinear, antialias").
  antialias,
  bilinear,  ///< the two nearest pixels a side, however much it shrinks: faster, aliases below 1/2
};

/// One axis of a resize: `out` samples spread evenly over [start, start + length) of the input
/// axis. Pixels outside [first, last) have no weight.
struct ResizeAxis {
  double start = 0;
  double length = 0;
  int first = 0;
  int last = 0;
  int out = 0;
  bool reversed = false;  ///< the samples come out last first: a flip at no cost
};

/// Pixels to be resized, rows `stride` bytes apart; data is the pixel at (x, y) = (column, row) of
/// the axes' coordinates.
struct ResizeSource {
  const std::uint8_t* data = nullptr;
  std::size_t stride = 0;
  int column = 0;
  int row = 0;
};

/// Resizes pixels of 4 bytes (the fourth is ignored) to packed pixels of 3, through vector code
/// chosen at run time. Fixed-point arithmetic: the same bytes on every processor, within 1 level of
/// exact. Every row of the source must be readable for 64 bytes beyond its last pixel. Thread-safe;
/// scratch memory is the thread's own.
HEADRACE_API void resize_to_rgb(const ResizeSource& source, const ResizeAxis& x,
                                const ResizeAxis& y, Resample resample, std::uint8_t* out);

/// The same for packed pixels of any number of channels, in plain code: for what is not a
/// photograph. Rounded once, from 32-bit weights.
HEADRACE_API void resize_channels(const ResizeSource& source, int channels, const ResizeAxis& x,
                                  const ResizeAxis& y, Resample resample, std::uint8_t* out);

namespace detail {

/// resize_to_rgb() by one of the compiled vector targets, for tests; false when the index is past
/// the last one that this processor offers.
HEADRACE_API bool resize_to_rgb_on(int target, const ResizeSource& source, const ResizeAxis& x,
                                   const ResizeAxis& y, Resample resample, std::uint8_t* out);

}  // namespace detail
}  // namespace headrace::inline v1
