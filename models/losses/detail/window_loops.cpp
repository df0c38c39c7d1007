#include <headrace/models/losses/detail/plane_loops.h>
#include <headrace/models/losses/detail/window_extremes.h>

#include <array>
#include <cstdint>
#include <vector>

#include <ATen/Dispatch.h>
#include <ATen/ops/empty_like.h>

namespace headrace::inline v1::models::detail {

namespace {

struct Less {
  template <typename T>
  static bool beats(T one, T other) {
    return one < other;
  }
};

struct Greater {
  template <typename T>
  static bool beats(T one, T other) {
    return one > other;
  }
};

// Of three rows. Codes, where wanted, have those of axes before this one.
template <typename Better, int bits, typename T>
void extremes_of_rows(Three<const T*> in, T* __restrict out, std::int8_t* __restrict codes,
                      std::int64_t width) {
  if (codes == nullptr) {
    for (std::int64_t x = 0; x < width; ++x) {
      const T before = in.before[x];
      const T behind = in.behind[x];
      const T best = Better::beats(before, in.here[x]) ? before : in.here[x];
      out[x] = Better::beats(behind, best) ? behind : best;
    }
    return;
  }
  for (std::int64_t x = 0; x < width; ++x) {
    const T here = in.here[x];
    const T before = in.before[x];
    const T behind = in.behind[x];
    const Lane<T> first = Better::beats(before, here);
    const T best = first ? before : here;
    const Lane<T> second = Better::beats(behind, best);
    out[x] = second ? behind : best;
    const Lane<T> code = second * 2 + (first & (second ^ 1));
    codes[x] = static_cast<std::int8_t>(bits == bits_of_x ? code : code << bits | codes[x]);
  }
}

// Of one plane along x, then along y. A border that repeats is never better.
template <typename Better, typename T>
void extremes_of_plane(const Extent& extent, const T* in, T* out, std::int8_t* codes) {
  const std::int64_t width = extent.width;
  std::vector<T> along_x(static_cast<std::size_t>(extent.plane()));
  std::vector<T> padded(static_cast<std::size_t>(width + 2));
  const T* row = padded.data();
  for (std::int64_t y = 0; y < extent.height; ++y) {
    const T* own = in + y * width;
    pad_row(own, width, padded.data(), {.before = own[0], .behind = own[width - 1]});
    extremes_of_rows<Better, bits_of_x, T>({.here = row + 1, .before = row, .behind = row + 2},
                                           along_x.data() + y * width, beyond(codes, y * width),
                                           width);
  }
  row = along_x.data();
  for (std::int64_t y = 0; y < extent.height; ++y) {
    const Three<std::int64_t> around = extent.along_y(y);
    extremes_of_rows<Better, bits_of_y, T>({.here = row + y * width,
                                            .before = row + around.before * width,
                                            .behind = row + around.behind * width},
                                           out + y * width, beyond(codes, y * width), width);
  }
}

// Of all planes along x and y.
template <typename Better, typename T>
at::Tensor extremes_of_planes(const at::Tensor& maps, std::int8_t* codes) {
  const Extent extent(maps);
  at::Tensor found = at::empty_like(maps);
  const T* in = maps.const_data_ptr<T>();
  T* out = found.mutable_data_ptr<T>();
  on_planes(extent, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin * extent.plane(); at < end * extent.plane(); at += extent.plane())
      extremes_of_plane<Better, T>(extent, in + at, out + at, beyond(codes, at));
  });
  return found;
}

// Of the extremes of planes along z; `take(at, row)` gets those of a row and where it begins.
template <typename Better, typename T, typename Take>
void extremes_along_z(const at::Tensor& planes, std::int8_t* codes, const Take& take) {
  const Extent extent(planes);
  const T* in = planes.const_data_ptr<T>();
  on_planes(extent, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> row(static_cast<std::size_t>(extent.width));
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const Three<std::int64_t> around = extent.along_z(plane);
      for (std::int64_t y = 0; y < extent.plane(); y += extent.width) {
        const std::int64_t at = plane * extent.plane() + y;
        extremes_of_rows<Better, bits_of_z, T>({.here = in + at,
                                                .before = in + around.before * extent.plane() + y,
                                                .behind = in + around.behind * extent.plane() + y},
                                               row.data(), beyond(codes, at), extent.width);
        take(at, row.data());
      }
    }
  });
}

template <typename T>
using Cross = std::array<const T*, 7>;

// Of seven rows: that in the middle, then before and behind along z, y and x.
template <typename T>
void least_of_cross(const Cross<T> in, T* __restrict out, std::int8_t* __restrict codes,
                    std::int64_t width) {
  if (codes == nullptr) {
    for (std::int64_t x = 0; x < width; ++x) {
      T least = in[0][x];
      for (std::size_t i = 1; i < in.size(); ++i) {
        const T other = in[i][x];
        least = other < least ? other : least;
      }
      out[x] = least;
    }
    return;
  }
  for (std::int64_t x = 0; x < width; ++x) {
    T least = in[0][x];
    Lane<T> code = 0;
    for (std::size_t i = 1; i < in.size(); ++i) {
      const T other = in[i][x];
      const Lane<T> less = other < least;
      least = less ? other : least;
      code += (static_cast<Lane<T>>(i) - code) & -less;
    }
    out[x] = least;
    codes[x] = static_cast<std::int8_t>(code);
  }
}

template <typename T>
at::Tensor eroded_by_cross(const at::Tensor& maps, std::int8_t* codes) {
  const Extent extent(maps);
  at::Tensor found = at::empty_like(maps);
  const T* in = maps.const_data_ptr<T>();
  T* out = found.mutable_data_ptr<T>();
  on_planes(extent, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t width = extent.width;
    std::vector<T> padded(static_cast<std::size_t>(width + 2));
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const Three<std::int64_t> z = extent.along_z(plane);
      for (std::int64_t row = 0; row < extent.height; ++row) {
        const Three<std::int64_t> y = extent.along_y(row);
        const T* own = in + plane * extent.plane();
        pad_row(own + row * width, width, padded.data(),
                {.before = own[row * width], .behind = own[row * width + width - 1]});
        const Cross<T> around{padded.data() + 1,
                              in + z.before * extent.plane() + row * width,
                              in + z.behind * extent.plane() + row * width,
                              own + y.before * width,
                              own + y.behind * width,
                              padded.data(),
                              padded.data() + 2};
        const std::int64_t at = plane * extent.plane() + row * width;
        least_of_cross<T>(around, out + at, beyond(codes, at), width);
      }
    }
  });
  return found;
}

template <typename T>
at::Tensor eroded_by_cube(const at::Tensor& maps, std::int8_t* codes) {
  const at::Tensor planes = extremes_of_planes<Less, T>(maps, codes);
  at::Tensor found = at::empty_like(maps);
  T* out = found.mutable_data_ptr<T>();
  const std::int64_t width = maps.size(3);
  extremes_along_z<Less, T>(
      planes, codes, [=](std::int64_t at, const T* row) { std::copy_n(row, width, out + at); });
  return found;
}

template <typename T>
at::Tensor residue_of(const at::Tensor& maps, const at::Tensor& eroded, std::int8_t* codes) {
  const at::Tensor planes = extremes_of_planes<Greater, T>(eroded, codes);
  at::Tensor left = at::empty_like(maps);
  const T* in = maps.const_data_ptr<T>();
  T* out = left.mutable_data_ptr<T>();
  const std::int64_t width = maps.size(3);
  extremes_along_z<Greater, T>(planes, codes, [=](std::int64_t at, const T* opened) {
    for (std::int64_t x = 0; x < width; ++x) {
      const T over = in[at + x] - opened[x];
      out[at + x] = over < 0 ? 0 : over;  // NaN stays
    }
  });
  return left;
}

std::int8_t* begin_of(const at::Tensor& codes) {
  return codes.defined() ? codes.mutable_data_ptr<std::int8_t>() : nullptr;
}

}  // namespace

at::Tensor erode_in_loops(const at::Tensor& maps, ErosionWindow window, const at::Tensor& codes) {
  return AT_DISPATCH_FLOATING_TYPES(maps.scalar_type(), "erode", [&] {
    return window == ErosionWindow::cross ? eroded_by_cross<scalar_t>(maps, begin_of(codes))
                                          : eroded_by_cube<scalar_t>(maps, begin_of(codes));
  });
}

at::Tensor residue_in_loops(const at::Tensor& maps, const at::Tensor& eroded,
                            const at::Tensor& codes) {
  return AT_DISPATCH_FLOATING_TYPES(maps.scalar_type(), "residue", [&] {
    return residue_of<scalar_t>(maps, eroded, begin_of(codes));
  });
}

const WindowExtremes window_loops{.erode = erode_in_loops,
                                  .residue = residue_in_loops,
                                  .add_erosion = add_erosion_in_loops,
                                  .subtract_dilation = subtract_dilation_in_loops,
                                  .of_layers = of_layers_in_loops};

}  // namespace headrace::inline v1::models::detail
