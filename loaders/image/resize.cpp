#include <headrace/loaders/image/filter_taps.h>
#include <headrace/loaders/image/pixel_buffer.h>
#include <headrace/loaders/image/resize.h>
#include <headrace/loaders/image/resize_kernels.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace headrace::inline v1 {
namespace {

constexpr std::uint64_t kernel_one = 65535;                  // weights of 16 bits
constexpr std::uint64_t exact_one = std::uint64_t{1} << 32;  // weights of 32 bits

/// Memory of one thread's resizes.
struct Scratch {
  detail::FilterTaps x;
  detail::FilterTaps y;
  std::vector<std::uint32_t> row_weights;
  std::vector<std::uint32_t> column_weights;
  detail::PixelBuffer line;
  detail::PixelBuffer rgbx;
  std::vector<std::uint64_t> sums;

  static Scratch& this_thread() {
    static thread_local Scratch scratch;
    return scratch;
  }
};

/// Weights as the kernel wants them: in both halves of 32 bits.
void double_up(const detail::FilterTaps& taps, std::size_t rows, std::vector<std::uint32_t>& out) {
  const std::size_t count = taps.weights.size();
  out.resize(rows * static_cast<std::size_t>(taps.count));
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<std::uint32_t>(taps.weights[i] * 0x10001U);
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(count), out.end(), 0U);
}

bool run_kernel(Scratch& scratch, const ResizeSource& source, const ResizeAxis& x,
                const ResizeAxis& y, std::uint8_t* out, int target) {
  const auto [least, most] = std::minmax_element(scratch.x.first.begin(), scratch.x.first.end());
  const int column = *least;
  const int columns = *most + scratch.x.count - column;
  const std::size_t padded = (static_cast<std::size_t>(x.out) + 3) / 4 * 4;
  scratch.x.first.resize(padded, column);
  for (std::int32_t& first : scratch.x.first)
    first -= column;
  for (std::int32_t& first : scratch.y.first)
    first -= source.row;
  double_up(scratch.x, padded, scratch.column_weights);
  double_up(scratch.y, static_cast<std::size_t>(y.out), scratch.row_weights);
  const std::size_t line =
      (static_cast<std::size_t>(columns) + detail::line_slack) * detail::line_values * 2;
  const detail::ResizeKernelTask task{
      .data = source.data + std::ptrdiff_t{4} * (column - source.column),
      .stride = source.stride,
      .columns = columns,
      .row_taps = scratch.y.count,
      .row_first = scratch.y.first.data(),
      .row_weights = scratch.row_weights.data(),
      .column_taps = scratch.x.count,
      .column_first = scratch.x.first.data(),
      .column_weights = scratch.column_weights.data(),
      .out_width = x.out,
      .out_height = y.out,
      .line = reinterpret_cast<std::uint16_t*>(scratch.line.reserve(line)),
      .out = out};
  return detail::run_resize_kernel(task, target);
}

/// Sums of one output row over the rows of the source, 32 fraction bits dropped to 16.
void blend_rows(Scratch& scratch, const ResizeSource& source, int channels, int y, int column,
                std::size_t values) {
  const std::size_t count = static_cast<std::size_t>(scratch.y.count);
  const std::uint64_t* weights = scratch.y.weights.data() + static_cast<std::size_t>(y) * count;
  scratch.sums.assign(values, std::uint64_t{1} << 15);
  const std::uint8_t* row = source.data +
                            static_cast<std::ptrdiff_t>(source.stride) *
                                (scratch.y.first[static_cast<std::size_t>(y)] - source.row) +
                            std::ptrdiff_t{channels} * (column - source.column);
  for (std::size_t k = 0; k < count; ++k, row += source.stride) {
    if (weights[k] == 0) continue;
    for (std::size_t i = 0; i < values; ++i)
      scratch.sums[i] += weights[k] * row[i];
  }
  for (std::size_t i = 0; i < values; ++i)
    scratch.sums[i] >>= 16;
}

void resize_exact(Scratch& scratch, const ResizeSource& source, int channels, int out_channels,
                  const ResizeAxis& x, const ResizeAxis& y, std::uint8_t* out) {
  const std::size_t count = static_cast<std::size_t>(scratch.x.count);
  const auto [least, most] = std::minmax_element(scratch.x.first.begin(), scratch.x.first.end());
  const int column = *least;
  const std::size_t values = static_cast<std::size_t>(*most - column + scratch.x.count) *
                             static_cast<std::size_t>(channels);
  for (int row = 0; row < y.out; ++row) {
    blend_rows(scratch, source, channels, row, column, values);
    for (int i = 0; i < x.out; ++i) {
      const std::uint64_t* from =
          scratch.sums.data() +
          std::ptrdiff_t{channels} * (scratch.x.first[static_cast<std::size_t>(i)] - column);
      const std::uint64_t* weights = scratch.x.weights.data() + static_cast<std::size_t>(i) * count;
      for (int c = 0; c < out_channels; ++c) {
        std::uint64_t sum = std::uint64_t{1} << 47;
        for (std::size_t k = 0; k < count; ++k) {
          sum += weights[k] *
                 from[k * static_cast<std::size_t>(channels) + static_cast<std::size_t>(c)];
        }
        *out++ = static_cast<std::uint8_t>(sum >> 48);
      }
    }
  }
}

bool resize_rgb(const ResizeSource& source, const ResizeAxis& x, const ResizeAxis& y,
                Resample resample, std::uint8_t* out, int target) {
  Scratch& scratch = Scratch::this_thread();
  scratch.x.make(x, resample, kernel_one);
  scratch.y.make(y, resample, kernel_one);
  if (scratch.x.count <= detail::most_kernel_taps && scratch.y.count <= detail::most_kernel_taps) {
    return run_kernel(scratch, source, x, y, out, target);
  }
  scratch.x.make(x, resample, exact_one);
  scratch.y.make(y, resample, exact_one);
  resize_exact(scratch, source, 4, 3, x, y, out);
  return true;
}

}  // namespace

void resize_to_rgb(const ResizeSource& source, const ResizeAxis& x, const ResizeAxis& y,
                   Resample resample, std::uint8_t* out) {
  resize_rgb(source, x, y, resample, out, -1);
}

void resize_channels(const ResizeSource& source, int channels, const ResizeAxis& x,
                     const ResizeAxis& y, Resample resample, std::uint8_t* out) {
  Scratch& scratch = Scratch::this_thread();
  if (channels == 3) {  // worth a copy: the vector kernel is several times faster
    const int width = x.last - x.first;
    const std::size_t stride = detail::PixelBuffer::padded(static_cast<std::size_t>(width) * 4);
    std::uint8_t* copy = scratch.rgbx.reserve(stride * static_cast<std::size_t>(y.last - y.first));
    for (int row = y.first; row < y.last; ++row) {
      const std::uint8_t* from = source.data +
                                 static_cast<std::ptrdiff_t>(source.stride) * (row - source.row) +
                                 std::ptrdiff_t{3} * (x.first - source.column);
      std::uint8_t* to = copy + stride * static_cast<std::size_t>(row - y.first);
      for (int i = 0; i < width; ++i, from += 3, to += 4)
        std::memcpy(to, from, 3);
    }
    resize_rgb({copy, stride, x.first, y.first}, x, y, resample, out, -1);
    return;
  }
  scratch.x.make(x, resample, exact_one);
  scratch.y.make(y, resample, exact_one);
  resize_exact(scratch, source, channels, channels, x, y, out);
}

namespace detail {

bool resize_to_rgb_on(int target, const ResizeSource& source, const ResizeAxis& x,
                      const ResizeAxis& y, Resample resample, std::uint8_t* out) {
  return resize_rgb(source, x, y, resample, out, target);
}

}  // namespace detail
}  // namespace headrace::inline v1
