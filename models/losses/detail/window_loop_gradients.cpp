#include <headrace/models/losses/detail/plane_loops.h>
#include <headrace/models/losses/detail/window_extremes.h>

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/Dispatch.h>
#include <ATen/ops/empty_like.h>

namespace headrace::inline v1::models::detail {

namespace {

// Where gradients come from, and which of their neighbours they go to.
template <typename T>
struct Source {
  const T* gradient = nullptr;
  const std::int8_t* codes = nullptr;
};

// What one gives where `bits` of its code from `shift` on are `code`.
template <int shift, int bits, int code, typename T>
T given(const Source<T>& from, std::int64_t x) {
  const T gradient = from.gradient[x];
  return (from.codes[x] >> shift & bits) == code ? gradient : T{0};
}

// What three rows give to that in the middle, along one axis.
template <int bits, typename T>
void gather_rows(const Three<Source<T>>& from, T* __restrict out, std::int64_t width) {
  const Source<T> here = from.here;
  const Source<T> before = from.before;
  const Source<T> behind = from.behind;
  for (std::int64_t x = 0; x < width; ++x) {
    out[x] =
        given<bits, 3, 0>(here, x) + given<bits, 3, 2>(before, x) + given<bits, 3, 1>(behind, x);
  }
}

// A plane of the gradient of windows of all neighbours: back along z, y and x. Beyond the border
// are rows of zeros.
template <typename T>
class CubeGradient {
 public:
  CubeGradient(const at::Tensor& gradient, const at::Tensor& codes)
      : extent_(gradient),
        gradient_(gradient.const_data_ptr<T>()),
        codes_(codes.const_data_ptr<std::int8_t>()),
        zeros_(static_cast<std::size_t>(extent_.width)),
        row_(zeros_.size() + 2),
        row_codes_(row_.size()),
        along_z_(static_cast<std::size_t>(extent_.plane())),
        along_y_(along_z_.size()) {}

  // onto += factor * its gradient
  void add(std::int64_t plane, T* onto, T factor) {
    for (std::int64_t y = 0; y < extent_.height; ++y)
      from_planes(plane, y * extent_.width);
    for (std::int64_t y = 0; y < extent_.height; ++y)
      from_rows(plane, y);
    for (std::int64_t y = 0; y < extent_.height; ++y)
      from_columns(plane, y, factor, onto + y * extent_.width);
  }

 private:
  void from_planes(std::int64_t plane, std::int64_t offset) {
    const Three<std::int64_t> around = extent_.along_z(plane);
    const auto row = [&](std::int64_t other, bool is_there) -> Source<T> {
      const std::int64_t at = other * extent_.plane() + offset;
      return {is_there ? gradient_ + at : zeros_.data(), codes_ + at};
    };
    gather_rows<bits_of_z, T>({.here = row(plane, true),
                               .before = row(around.before, around.before != plane),
                               .behind = row(around.behind, around.behind != plane)},
                              along_z_.data() + offset, extent_.width);
  }

  void from_rows(std::int64_t plane, std::int64_t y) {
    const Three<std::int64_t> around = extent_.along_y(y);
    const auto row = [&](std::int64_t other, bool is_there) -> Source<T> {
      const std::int64_t at = other * extent_.width;
      return {is_there ? along_z_.data() + at : zeros_.data(),
              codes_ + plane * extent_.plane() + at};
    };
    gather_rows<bits_of_y, T>({.here = row(y, true),
                               .before = row(around.before, around.before != y),
                               .behind = row(around.behind, around.behind != y)},
                              along_y_.data() + y * extent_.width, extent_.width);
  }

  void from_columns(std::int64_t plane, std::int64_t y, T factor, T* onto) {
    const std::int64_t width = extent_.width;
    pad_row<T>(along_y_.data() + y * width, width, row_.data(), {});
    pad_row<std::int8_t>(codes_ + plane * extent_.plane() + y * width, width, row_codes_.data(),
                         {});
    const auto from = [&](std::int64_t x) -> Source<T> {
      return {row_.data() + x, row_codes_.data() + x};
    };
    T* sums = along_z_.data() + y * width;  // no longer needed
    gather_rows<bits_of_x, T>({.here = from(1), .before = from(0), .behind = from(2)}, sums, width);
    for (std::int64_t x = 0; x < width; ++x)
      onto[x] += factor * sums[x];
  }

  Extent extent_;
  const T* gradient_;
  const std::int8_t* codes_;
  std::vector<T> zeros_;
  std::vector<T> row_;
  std::vector<std::int8_t> row_codes_;
  std::vector<T> along_z_;
  std::vector<T> along_y_;
};

template <typename T>
void add_cube(const at::Tensor& onto, const at::Tensor& gradient, const at::Tensor& codes,
              T factor) {
  const Extent extent(onto);
  T* out = onto.mutable_data_ptr<T>();
  on_planes(extent, [&](std::int64_t begin, std::int64_t end) {
    CubeGradient<T> of(gradient, codes);
    for (std::int64_t plane = begin; plane < end; ++plane)
      of.add(plane, out + plane * extent.plane(), factor);
  });
}

template <typename T>
using Sources = std::array<Source<T>, 7>;

// What the seven rows of a cross give to that in the middle.
template <typename T, std::size_t... i>
void add_from_cross(const Sources<T> from, T* __restrict onto, std::int64_t width,
                    std::index_sequence<i...> /*rows*/) {
  for (std::int64_t x = 0; x < width; ++x)
    onto[x] += (... + given<0, 7, code_back(i)>(from[i], x));
}

template <typename T>
void add_cross(const at::Tensor& onto, const at::Tensor& gradient, const at::Tensor& codes) {
  const Extent extent(onto);
  T* out = onto.mutable_data_ptr<T>();
  const T* in = gradient.const_data_ptr<T>();
  const std::int8_t* code = codes.const_data_ptr<std::int8_t>();
  on_planes(extent, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t width = extent.width;
    const std::vector<T> zeros(static_cast<std::size_t>(width));
    std::vector<T> padded(zeros.size() + 2);
    std::vector<std::int8_t> padded_codes(padded.size());
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const Three<std::int64_t> z = extent.along_z(plane);
      for (std::int64_t row = 0; row < extent.height; ++row) {
        const Three<std::int64_t> y = extent.along_y(row);
        const auto from = [&](std::int64_t of_plane, std::int64_t of_row) -> Source<T> {
          const std::int64_t at = of_plane * extent.plane() + of_row * width;
          const bool is_there = of_plane != plane || of_row != row;
          return {is_there ? in + at : zeros.data(), code + at};
        };
        const auto along_x = [&](std::int64_t x) -> Source<T> {
          return {padded.data() + x, padded_codes.data() + x};
        };
        const std::int64_t at = plane * extent.plane() + row * width;
        pad_row<T>(in + at, width, padded.data(), {});
        pad_row<std::int8_t>(code + at, width, padded_codes.data(), {});
        add_from_cross<T>({along_x(1), from(z.before, row), from(z.behind, row),
                           from(plane, y.before), from(plane, y.behind), along_x(0), along_x(2)},
                          out + at, width, std::make_index_sequence<7>());
      }
    }
  });
}

constexpr std::int64_t block = 1024;

// `value` or 0, without a branch, which would keep the loop from being a vector's.
template <typename T>
T where(bool there, T value) {
  return std::bit_cast<T>(std::bit_cast<Lane<T>>(value) & -static_cast<Lane<T>>(there));
}

// A stretch of all layers.
template <typename T>
struct Stretch {
  std::vector<const T*> layers;
  std::vector<T*> out;
  std::int64_t size;
};

// `own` is the skeleton's gradient; `before[k]` what the skeleton was without layer k and later.
template <bool takes_maximum, typename T>
void layers_back(const Stretch<T>& at, T* __restrict own, T* __restrict before) {
  std::fill_n(before, at.size, T{0});
  for (std::size_t k = 0; k + 1 < at.layers.size(); ++k) {
    const T* was = before + k * block;
    T* is = before + (k + 1) * block;
    const T* layer = at.layers[k];
    for (std::int64_t x = 0; x < at.size; ++x)
      is[x] = takes_maximum ? (layer[x] > was[x] ? layer[x] : was[x])
                            : was[x] + layer[x] * (1 - was[x]);
  }
  for (std::size_t k = at.layers.size(); k-- > 0;) {
    const T* was = before + k * block;
    const T* layer = at.layers[k];
    T* __restrict out = at.out[k];
    for (std::int64_t x = 0; x < at.size; ++x) {
      const T gradient = own[x];
      const T share = takes_maximum ? gradient : gradient * (1 - was[x]);
      const T given = where(layer[x] > (takes_maximum ? was[x] : T{0}), share);
      out[x] = given;
      own[x] = takes_maximum ? gradient - given : gradient * (1 - layer[x]);
    }
  }
}

template <bool takes_maximum, typename T>
void all_layers_back(const std::vector<at::Tensor>& layers, const std::vector<at::Tensor>& found,
                     const T* gradient) {
  const std::int64_t count = layers[0].numel();
  on_threads((count + block - 1) / block, 32, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> own(block);
    std::vector<T> before(block * layers.size());
    for (std::int64_t at = begin * block; at < std::min(end * block, count); at += block) {
      Stretch<T> stretch{.layers = {}, .out = {}, .size = std::min(block, count - at)};
      for (std::size_t k = 0; k < layers.size(); ++k) {
        stretch.layers.push_back(layers[k].const_data_ptr<T>() + at);
        stretch.out.push_back(found[k].mutable_data_ptr<T>() + at);
      }
      std::copy_n(gradient + at, stretch.size, own.data());
      layers_back<takes_maximum, T>(stretch, own.data(), before.data());
    }
  });
}

}  // namespace

void add_erosion_in_loops(const at::Tensor& onto, const at::Tensor& gradient, ErosionWindow window,
                          const at::Tensor& codes) {
  AT_DISPATCH_FLOATING_TYPES(onto.scalar_type(), "add_erosion", [&] {
    if (window == ErosionWindow::cross)
      add_cross<scalar_t>(onto, gradient, codes);
    else
      add_cube<scalar_t>(onto, gradient, codes, 1);
  });
}

void subtract_dilation_in_loops(const at::Tensor& onto, const at::Tensor& gradient,
                                const at::Tensor& codes) {
  AT_DISPATCH_FLOATING_TYPES(onto.scalar_type(), "subtract_dilation",
                             [&] { add_cube<scalar_t>(onto, gradient, codes, -1); });
}

std::vector<at::Tensor> of_layers_in_loops(const std::vector<at::Tensor>& layers,
                                           const at::Tensor& gradient, ErosionWindow window) {
  std::vector<at::Tensor> found;
  for (const at::Tensor& layer : layers)
    found.push_back(at::empty_like(layer));
  AT_DISPATCH_FLOATING_TYPES(gradient.scalar_type(), "of_layers", [&] {
    const auto* given = gradient.const_data_ptr<scalar_t>();
    if (window == ErosionWindow::cube)
      all_layers_back<true, scalar_t>(layers, found, given);
    else
      all_layers_back<false, scalar_t>(layers, found, given);
  });
  return found;
}

}  // namespace headrace::inline v1::models::detail
