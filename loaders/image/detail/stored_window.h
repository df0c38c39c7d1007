#pragma once

#include <headrace/loaders/image/crop.h>
#include <headrace/loaders/image/resize.h>

namespace headrace::inline v1::detail {

/// A window of a picture, to be shown in some size, as the two axes of the stored picture.
struct StoredWindow {
  ResizeAxis x;
  ResizeAxis y;
};

/// Of a window that is shown height x width, by the header's orientation; `flip`: left to right.
StoredWindow to_stored(const ImageWindow& window, int height, int width, bool flip,
                       const ImageHeader& header);

/// Cuts the axes' pixels down to those that their filters can reach, in a picture decoded at
/// 1/scale; what is left of the stored picture, in full-size pixels.
Region cut_to_reach(StoredWindow& window, int scale);

/// The window in the picture decoded at 1/scale.
void shrink(StoredWindow& window, int scale);

/// The smallest picture (1/8, 1/4, 1/2 or whole) that still has the target's sides.
int largest_scale(const StoredWindow& window);

}  // namespace headrace::inline v1::detail
