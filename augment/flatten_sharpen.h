#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstddef>
#include <string>

namespace headrace::inline v1 {

/// Takes an uneven background out of a picture, uint8 [H, W, C], and raises what is left: in this
/// order, each channel by itself, every step rounded and kept in 0 to 255:
/// 1. The background is subtracted and 128 put in its place, which the contrast keeps in the middle
///    of the levels, whatever the channel's own mean is. It is the mean of each block (a multiple
///    of 1/128) at the block's middle, bilinear between middles (shares in 256ths) and constant
///    outside them, so that no seams come into the picture. Blocks lie from the upper left; a rest
///    below half a block belongs to the last one.
/// 2. `brightness` is added.
/// 3. The distance from 128 is multiplied by `contrast`.
/// 4. The kernel [0, -a, 0; -a, 1 + 4a, -a; 0, -a, 0] with a = `sharpness`, the border reflected
///    without its outermost pixels.
/// Integer arithmetic: the same bytes on every machine.
struct HEADRACE_API FlattenSharpen {
  int block = 30;          ///< height and width of a block in pixels: 2 to 4096
  int brightness = 20;     ///< levels: -255 to 255
  double contrast = 2.0;   ///< 0 to 16, in steps of 1/256
  double sharpness = 1.5;  ///< likewise
  std::string field = "image";

  std::string name() const { return "flatten_sharpen"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no pictures
  /// with at least 2 pixels along each side.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  /// Throws DataError for a picture that is smaller. Thread-safe.
  void operator()(Sample& sample) const;
};

}  // namespace headrace::inline v1
