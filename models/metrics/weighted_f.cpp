#include <headrace/models/metrics/detail/divisor_eps.h>
#include <headrace/models/metrics/nearest_object.h>
#include <headrace/models/metrics/weighted_f.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace headrace::inline v1::models {

using detail::divisor_eps;

namespace {

constexpr std::int64_t radius = 3;
constexpr double sigma = 5.0;
using Taps = std::array<double, 2 * radius + 1>;

// The normalised Gaussian 7 x 7 is the product of two of these.
Taps gaussian_taps() {
  Taps taps{};
  double sum = 0.0;
  for (std::int64_t i = -radius; i <= radius; ++i) {
    const auto x = static_cast<double>(i);
    sum += taps[static_cast<std::size_t>(i + radius)] = std::exp(-x * x / (2.0 * sigma * sigma));
  }
  for (double& tap : taps)
    tap /= sum;
  return taps;
}

class WeightedError {
 public:
  explicit WeightedError(const SaliencyPair& pair)
      : pair_(pair), nearest_(nearest_object(pair.mask(), {pair.height(), pair.width()})) {
    blur_rows();
    for (std::int64_t row = 0; row < pair.height(); ++row)
      add_row(row);
  }

  double of_object() const { return object_; }
  double of_rest() const { return rest_; }

 private:
  double error(std::size_t i) const {
    return std::abs(pair_.prediction()[i] - static_cast<double>(pair_.mask()[i]));
  }

  std::size_t index(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(row * pair_.width() + column);
  }

  // Each pixel's error, in the background that of the nearest object pixel, smoothed along rows.
  void blur_rows() {
    blurred_.resize(nearest_.size());
    std::vector<double> line(static_cast<std::size_t>(pair_.width() + 2 * radius), 0.0);
    for (std::int64_t row = 0; row < pair_.height(); ++row) {
      for (std::int64_t column = 0; column < pair_.width(); ++column) {
        const PixelPlace& place = nearest_[index(row, column)];
        line[static_cast<std::size_t>(column + radius)] = error(index(place.row, place.column));
      }
      double* to = blurred_.data() + index(row, 0);
      for (std::int64_t column = 0; column < pair_.width(); ++column) {
        double sum = 0.0;
        for (std::size_t k = 0; k < taps_.size(); ++k)
          sum += taps_[k] * line[static_cast<std::size_t>(column) + k];
        to[column] = sum;
      }
    }
  }

  double blurred(std::int64_t row, std::int64_t column) const {
    double sum = 0.0;
    const std::int64_t last = std::min(row + radius, pair_.height() - 1);
    for (std::int64_t y = std::max<std::int64_t>(row - radius, 0); y <= last; ++y)
      sum += taps_[static_cast<std::size_t>(y - row + radius)] * blurred_[index(y, column)];
    return sum;
  }

  // How much more an error counts, the farther it is from the object.
  double importance(std::int64_t row, std::int64_t column) const {
    const PixelPlace& place = nearest_[index(row, column)];
    const std::int64_t y = place.row - row;
    const std::int64_t x = place.column - column;
    const double distance = std::sqrt(static_cast<double>(y * y + x * x));
    return 2.0 - std::exp(std::log(0.5) / 5.0 * distance);
  }

  void add_row(std::int64_t row) {
    double object = 0.0;
    double rest = 0.0;
    for (std::int64_t column = 0; column < pair_.width(); ++column) {
      const std::size_t i = index(row, column);
      const double e = error(i);
      if (pair_.mask()[i] != 0)
        object += std::min(e, blurred(row, column));
      else if (e > 0.0)
        rest += e * importance(row, column);
    }
    object_ += object;
    rest_ += rest;
  }

  const SaliencyPair& pair_;
  Taps taps_ = gaussian_taps();
  std::vector<PixelPlace> nearest_;
  std::vector<double> blurred_;
  double object_ = 0.0;
  double rest_ = 0.0;
};

}  // namespace

double weighted_f(const SaliencyPair& pair) {
  if (pair.object_pixels() == 0) return 0.0;
  const WeightedError error(pair);
  const auto object = static_cast<double>(pair.object_pixels());
  const double true_positive = object - error.of_object();
  const double recall = 1.0 - error.of_object() / object;
  const double precision = true_positive / (true_positive + error.of_rest() + divisor_eps);
  return 2.0 * recall * precision / (recall + precision + divisor_eps);
}

}  // namespace headrace::inline v1::models
