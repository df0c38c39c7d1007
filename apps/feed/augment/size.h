#pragma once

#include <headrace/apps/feed/augment/operation.h>

namespace headrace::inline v1::app {

/// Height and width of what a crop makes.
struct CropSize {
  int size = 0;    ///< of both sides; 0: the job's (image.side), else the picture's own
  int height = 0;  ///< 0: size
  int width = 0;
};

void describe(Fields& fields, CropSize& size);

/// Throws ConfigError where nothing says a size.
std::array<int, 2> size_of(const CropSize& size, const AugmentContext& context);

/// The operation or geometry with that height and width.
template <class Sized>
Sized sized(Sized part, const CropSize& size, const AugmentContext& context) {
  const auto [height, width] = size_of(size, context);
  part.height = height;
  part.width = width;
  return part;
}

}  // namespace headrace::inline v1::app
