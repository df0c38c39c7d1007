#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/label_sampler.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace headrace::inline v1::detail {
namespace {

[[noreturn]] void refuse(unsigned label) {
  throw DataError("mask must have labels up to 255, got " + std::to_string(label) +
                  "; let the mask's dtype be uint16");
}

}  // namespace

int nearest_pixel(double start, double length, int first, int last, int i, int out) {
  const double centre = start + (i + 0.5) * length / out;
  return static_cast<int>(std::clamp<double>(std::floor(centre), first, last - 1));
}

Region LabelSampler::place(const ImageWindow& window, const ImageHeader& header, int out_width,
                           int out_height, bool flip) {
  const Region& bounds = window.bounds;
  transposed_ = header.transposed();
  const bool x_back = x_runs_back(header.orientation);
  const bool y_back = y_runs_back(header.orientation);
  const int shown_width = header.shown_width();
  const int shown_height = header.shown_height();
  const bool across_back = transposed_ ? y_back : x_back;
  const bool down_back = transposed_ ? x_back : y_back;
  across_.resize(static_cast<std::size_t>(out_width));
  down_.resize(static_cast<std::size_t>(out_height));
  for (int i = 0; i < out_width; ++i) {
    const int x =
        nearest_pixel(window.x, window.width, bounds.x, bounds.x + bounds.width, i, out_width);
    across_[static_cast<std::size_t>(flip ? out_width - 1 - i : i)] =
        across_back ? shown_width - 1 - x : x;
  }
  for (int i = 0; i < out_height; ++i) {
    const int y =
        nearest_pixel(window.y, window.height, bounds.y, bounds.y + bounds.height, i, out_height);
    down_[static_cast<std::size_t>(i)] = down_back ? shown_height - 1 - y : y;
  }
  const auto [left, right] = std::minmax_element(across_.begin(), across_.end());
  const auto [top, bottom] = std::minmax_element(down_.begin(), down_.end());
  if (transposed_) {
    return {.x = *top, .y = *left, .width = *bottom - *top + 1, .height = *right - *left + 1};
  }
  return {.x = *left, .y = *top, .width = *right - *left + 1, .height = *bottom - *top + 1};
}

template <class T>
void LabelSampler::sample(const DecodedLabels& labels, T* out) const {
  unsigned most = 0;
  const auto stride = static_cast<std::ptrdiff_t>(labels.stride);
  const std::ptrdiff_t step_across = transposed_ ? stride : 1;
  const std::ptrdiff_t step_down = transposed_ ? 1 : stride;
  const std::uint16_t* origin = labels.data - stride * labels.region.y - labels.region.x;
  for (int y : down_) {
    const std::uint16_t* row = origin + step_down * y;
    for (int x : across_) {
      const std::uint16_t label = row[step_across * x];
      most = std::max<unsigned>(most, label);
      *out++ = static_cast<T>(label);
    }
  }
  if (most > std::numeric_limits<T>::max()) refuse(most);
}

template void LabelSampler::sample(const DecodedLabels& labels, std::uint8_t* out) const;
template void LabelSampler::sample(const DecodedLabels& labels, std::uint16_t* out) const;

}  // namespace headrace::inline v1::detail
