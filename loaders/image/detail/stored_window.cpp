#include <headrace/loaders/image/detail/label_sampler.h>
#include <headrace/loaders/image/detail/stored_window.h>

#include <algorithm>
#include <cmath>

namespace headrace::inline v1::detail {
namespace {

/// One shown axis of a window as an axis of the stored picture, of `side` pixels, that runs the
/// other way if `reversed`.
ResizeAxis stored_axis(double start, double length, int first, int count, int out, int side,
                       bool reversed) {
  if (reversed) {
    start = side - start - length;
    first = side - first - count;
  }
  return {start, length, first, first + count, out, reversed};
}

/// Cuts an axis's pixels down to those its filter can reach.
void cut_to_reach(ResizeAxis& axis, int scale) {
  const double reach = std::max<double>(scale, axis.length / axis.out) + scale;
  axis.first = std::max(axis.first, static_cast<int>(std::floor(axis.start - reach)));
  axis.last = std::min(axis.last, static_cast<int>(std::ceil(axis.start + axis.length + reach)));
}

void shrink(ResizeAxis& axis, int scale) {
  axis.start /= scale;
  axis.length /= scale;
  axis.first /= scale;
  axis.last = (axis.last + scale - 1) / scale;
}

}  // namespace

StoredWindow to_stored(const ImageWindow& window, int height, int width, bool flip,
                       const ImageHeader& header) {
  const bool turned = header.transposed();
  const bool x_reversed = x_runs_back(header.orientation);
  const bool y_reversed = y_runs_back(header.orientation);
  const Region& bounds = window.bounds;
  const auto across = [&](int side, bool reversed) {
    ResizeAxis axis =
        stored_axis(window.x, window.width, bounds.x, bounds.width, width, side, reversed);
    axis.reversed = axis.reversed != flip;
    return axis;
  };
  const auto down = [&](int side, bool reversed) {
    return stored_axis(window.y, window.height, bounds.y, bounds.height, height, side, reversed);
  };
  if (turned) return {down(header.width, x_reversed), across(header.height, y_reversed)};
  return {across(header.width, x_reversed), down(header.height, y_reversed)};
}

Region cut_to_reach(StoredWindow& window, int scale) {
  cut_to_reach(window.x, scale);
  cut_to_reach(window.y, scale);
  return {.x = window.x.first,
          .y = window.y.first,
          .width = window.x.last - window.x.first,
          .height = window.y.last - window.y.first};
}

void shrink(StoredWindow& window, int scale) {
  shrink(window.x, scale);
  shrink(window.y, scale);
}

int largest_scale(const StoredWindow& window) {
  for (int scale = 8; scale > 1; scale /= 2) {
    if (window.x.length >= double(scale) * window.x.out &&
        window.y.length >= double(scale) * window.y.out) {
      return scale;
    }
  }
  return 1;
}

}  // namespace headrace::inline v1::detail
