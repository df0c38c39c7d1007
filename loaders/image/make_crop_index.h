#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <span>
#include <vector>

namespace headrace::inline v1 {

struct CropIndexOptions {
  /// Between two places where a part may begin, across; finer costs index.
  int segment_pixels = 64;
};

/// Makes a CropIndexedJpeg of a JPEG of any kind: its coefficients, losslessly, as a baseline file,
/// and the index. Slow (the coefficients are coded three times); meant for packing. Throws
/// DataError for a broken file and for one that cannot be indexed, saying why.
HEADRACE_API std::vector<std::byte> make_crop_indexed(std::span<const std::byte> jpeg,
                                                      const CropIndexOptions& options = {});

}  // namespace headrace::inline v1
