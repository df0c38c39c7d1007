// Compiled once for every vector target; Highway picks one at run time.
#include <headrace/augment/detail/scratch.h>
#include <headrace/augment/volume/detail/distance.h>
#include <headrace/engine/base/internal/vector_target.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/augment/volume/detail/distance.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef HEADRACE_DISTANCE_LINES
#define HEADRACE_DISTANCE_LINES
namespace headrace::inline v1::detail {

/// Lines along one axis, side by side: value i of line x is from[i * width + x].
struct DistanceLines {
  const float* from;
  std::int64_t length;
  std::int64_t width;
  float* out;  ///< value i of line x goes to out[i * stride + x]
  std::int64_t stride;
  const float* squares;  ///< of 0, 1, ... steps
  std::int64_t reach;    ///< most steps
};

}  // namespace headrace::inline v1::detail
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {
namespace {  // other kernels' helpers have such names, too

namespace hn = hwy::HWY_NAMESPACE;

/// The least of squares around value i of the lines x to x + lanes - 1.
template <class D>
HWY_INLINE hn::Vec<D> search(D d, const DistanceLines& lines, std::int64_t i, std::int64_t x) {
  const float* at = lines.from + i * lines.width + x;
  auto best = hn::LoadU(d, at);
  const std::int64_t before = std::min(lines.reach, i);
  const std::int64_t behind = std::min(lines.reach, lines.length - 1 - i);
  for (std::int64_t k = 1; k <= std::max(before, behind); ++k) {
    const auto square = hn::Set(d, lines.squares[k]);
    if (hn::AllTrue(d, hn::Le(best, square))) break;
    if (k <= before) best = hn::Min(best, hn::Add(hn::LoadU(d, at - k * lines.width), square));
    if (k <= behind) best = hn::Min(best, hn::Add(hn::LoadU(d, at + k * lines.width), square));
  }
  return best;
}

void search_lines(const DistanceLines& lines) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < lines.length; ++i) {
    float* out = lines.out + i * lines.stride;
    if (lines.width < lanes) {
      for (std::int64_t x = 0; x < lines.width; ++x)
        hn::StoreU(search(one, lines, i, x), one, out + x);
      continue;
    }
    for (std::int64_t x = 0; x < lines.width; x += lanes) {
      x = std::min(x, lines.width - lanes);
      hn::StoreU(search(d, lines, i, x), d, out + x);
    }
  }
}

void take_roots(float* values, std::int64_t count, float most) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto root = hn::Sqrt(hn::LoadU(d, values + i));
    hn::StoreU(hn::Min(root, hn::Set(d, most)), d, values + i);
  }
  for (; i < count; ++i)
    values[i] = std::min(std::sqrt(values[i]), most);
}

}  // namespace
}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::inline v1::detail {
namespace {

HWY_EXPORT(search_lines);
HWY_EXPORT(take_roots);

constexpr float none = std::numeric_limits<float>::infinity();

void scan_row(const std::uint8_t* features, std::int64_t width, const float* squares, float* out) {
  std::int64_t steps = width;  // none yet
  for (std::int64_t x = 0; x < width; ++x) {
    steps = features[x] != 0 ? 0 : std::min(steps + 1, width);
    out[x] = squares[steps];
  }
  steps = width;
  for (std::int64_t x = width - 1; x >= 0; --x) {
    steps = features[x] != 0 ? 0 : std::min(steps + 1, width);
    out[x] = std::min(out[x], squares[steps]);
  }
}

/// The lower envelope of one line; `memory` holds 3 * length + 1 doubles.
void envelope(const DistanceLines& lines, std::int64_t x, double* memory) {
  const double weight = lines.squares[1];
  double* value = memory;  // of vertices
  double* place = value + lines.length;
  double* begin = place + lines.length;  // where a vertex's parabola becomes the lowest
  std::int64_t count = 0;
  for (std::int64_t q = 0; q < lines.length; ++q) {
    const double f = lines.from[q * lines.width + x];
    if (f == static_cast<double>(none)) continue;
    const auto at = static_cast<double>(q);
    double from = -INFINITY;
    for (; count > 0; --count) {
      const double v = place[count - 1];
      from =
          ((f + weight * at * at) - (value[count - 1] + weight * v * v)) / (2 * weight * (at - v));
      if (from > begin[count - 1]) break;
    }
    if (count == 0) from = -INFINITY;
    value[count] = f;
    place[count] = at;
    begin[count++] = from;
  }
  std::int64_t k = 0;
  for (std::int64_t i = 0; i < lines.length; ++i) {
    while (k + 1 < count && begin[k + 1] <= static_cast<double>(i))
      ++k;
    const double away = static_cast<double>(i) - (count > 0 ? place[k] : 0);
    lines.out[i * lines.stride + x] =
        count == 0 ? none : static_cast<float>(value[k] + weight * away * away);
  }
}

/// Targets as in distances().
void transform(const DistanceLines& lines, double* memory, std::ptrdiff_t entry) {
  if (lines.length > most_searched && lines.reach >= lines.length) {
    for (std::int64_t x = 0; x < lines.width; ++x)
      envelope(lines, x, memory);
  } else if (entry < 0) {
    HWY_DYNAMIC_DISPATCH(search_lines)(lines);
  } else {
    HWY_DISPATCH_TABLE(search_lines)[entry](lines);
  }
}

/// Squares of 0 to `length` steps of that spacing; the last means that there is none. Gives the
/// steps within `most`.
std::int64_t make_squares(float spacing, float most, std::int64_t length, float* to) {
  for (std::int64_t k = 0; k < length; ++k) {
    const double distance = static_cast<double>(spacing) * static_cast<double>(k);
    to[k] = static_cast<float>(distance * distance);
  }
  to[length] = none;
  const double steps = std::floor(static_cast<double>(most) / static_cast<double>(spacing));
  return steps >= static_cast<double>(length) ? length : static_cast<std::int64_t>(steps);
}

/// Along y in each plane, then along z in each plane of rows.
void transform_volume(const DistanceTask& task, float* memory, std::ptrdiff_t entry) {
  const LabelGrid& grid = task.grid;
  const std::int64_t longest = std::max(grid.depth, grid.height);
  auto* envelopes = reinterpret_cast<double*>(memory);
  float* squares = memory + 2 * (3 * longest + 1);
  float* copy = squares + std::max(longest, grid.width) + 1;
  const std::size_t row = static_cast<std::size_t>(grid.width) * sizeof(float);
  make_squares(task.spacing[2], task.most, grid.width, squares);
  for (std::int64_t i = 0; i < grid.depth * grid.height; ++i)
    scan_row(task.features + i * grid.width, grid.width, squares, task.out + i * grid.width);
  std::int64_t reach = make_squares(task.spacing[1], task.most, grid.height, squares);
  for (std::int64_t z = 0; z < grid.depth; ++z) {
    float* plane = task.out + z * grid.plane();
    std::memcpy(copy, plane, static_cast<std::size_t>(grid.height) * row);
    transform({copy, grid.height, grid.width, plane, grid.width, squares, reach}, envelopes, entry);
  }
  reach = make_squares(task.spacing[0], task.most, grid.depth, squares);
  for (std::int64_t y = 0; y < grid.height; ++y) {
    float* plane = task.out + y * grid.width;
    for (std::int64_t z = 0; z < grid.depth; ++z)
      std::memcpy(copy + z * grid.width, plane + z * grid.plane(), row);
    transform({copy, grid.depth, grid.width, plane, grid.plane(), squares, reach}, envelopes,
              entry);
  }
}

}  // namespace

std::size_t distance_values(const LabelGrid& grid) {
  const std::int64_t longest = std::max(grid.depth, grid.height);
  return static_cast<std::size_t>(2 * (3 * longest + 1) + std::max(longest, grid.width) + 1 +
                                  longest * grid.width);
}

bool distances(const DistanceTask& task, int target) {
  static thread_local Scratch scratch;
  const std::ptrdiff_t entry = target < 0 ? -1 : vector_target(target);
  if (target >= 0 && entry < 0) return false;
  if (task.grid.count() == 0) return true;
  transform_volume(task, scratch.reserve<float>(distance_values(task.grid)), entry);
  if (entry < 0) {
    HWY_DYNAMIC_DISPATCH(take_roots)(task.out, task.grid.count(), task.most);
  } else {
    HWY_DISPATCH_TABLE(take_roots)[entry](task.out, task.grid.count(), task.most);
  }
  return true;
}

}  // namespace headrace::inline v1::detail
#endif
