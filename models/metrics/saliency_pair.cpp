#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/saliency_pair.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace headrace::inline v1::models {

namespace {

// A sum of row sums: rounding grows with the sides, not with the area.
template <class Value>
double sum_of(const SaliencyPair& pair, const Value& value) {
  double sum = 0.0;
  std::size_t i = 0;
  for (std::int64_t row = 0; row < pair.height(); ++row) {
    double of_row = 0.0;
    for (const std::size_t end = i + static_cast<std::size_t>(pair.width()); i < end; ++i)
      of_row += value(i);
    sum += of_row;
  }
  return sum;
}

}  // namespace

SaliencyPair::SaliencyPair(std::span<const double> prediction, std::span<const std::uint8_t> mask,
                           SaliencySize size, SaliencyRange range)
    : size_(size), mask_(mask.begin(), mask.end()) {
  check_mask(prediction.size());
  prediction_.assign(prediction.begin(), prediction.end());
  bring_into(range);
}

SaliencyPair::SaliencyPair(std::span<const float> prediction, std::span<const std::uint8_t> mask,
                           SaliencySize size, SaliencyRange range)
    : size_(size), mask_(mask.begin(), mask.end()) {
  check_mask(prediction.size());
  prediction_.assign(prediction.begin(), prediction.end());
  bring_into(range);
}

void SaliencyPair::check_mask(std::size_t values) {
  constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;
  const auto [height, width] = size_;
  if (height < 1 || width < 1 || height > most / width)
    throw DataError("[saliency] a picture must have 1 to 2^31 - 1 pixels, got " +
                    std::to_string(height) + " x " + std::to_string(width));
  const auto needed = static_cast<std::size_t>(pixels());
  if (values != needed || mask_.size() != needed)
    throw DataError("[saliency] a picture of " + std::to_string(height) + " x " +
                    std::to_string(width) +
                    " needs as many predicted values and mask pixels, got " +
                    std::to_string(values) + " and " + std::to_string(mask_.size()));
  const auto other = std::ranges::find_if(mask_, [](std::uint8_t value) { return value > 1; });
  if (other != mask_.end())
    throw DataError("[saliency] a mask must hold 0 and 1, got " + std::to_string(*other) +
                    "; compare stored values with 127 first");
  object_ = std::accumulate(mask_.begin(), mask_.end(), std::int64_t{0});
}

void SaliencyPair::check_prediction() const {
  const auto other =
      std::ranges::find_if(prediction_, [](double p) { return !(p >= 0.0 && p <= 1.0); });
  if (other == prediction_.end()) return;
  const std::int64_t place = other - prediction_.begin();
  throw DataError("[saliency] a prediction must lie in [0, 1], got " + std::to_string(*other) +
                  " in row " + std::to_string(place / width()) + ", column " +
                  std::to_string(place % width()) +
                  "; give probabilities, or 8-bit values over 255");
}

void SaliencyPair::bring_into(SaliencyRange range) {
  if (range == SaliencyRange::min_max) {
    if (!std::ranges::all_of(prediction_, [](double p) { return std::isfinite(p); }))
      throw DataError(
          "[saliency] a prediction must be finite, got NaN or infinity; "
          "look at the network's outputs");
    const auto [least, largest] = std::ranges::minmax(prediction_);
    const double width = largest - least;
    if (width > 0.0) {
      for (double& p : prediction_)
        p = (p - least) / width;
    }
  }
  check_prediction();
  mean_ =
      sum_of(*this, [&](std::size_t i) { return prediction_[i]; }) / static_cast<double>(pixels());
}

double mean_absolute_error(const SaliencyPair& pair) {
  const auto p = pair.prediction();
  const auto mask = pair.mask();
  return sum_of(pair,
                [&](std::size_t i) { return std::abs(p[i] - static_cast<double>(mask[i])); }) /
         static_cast<double>(pair.pixels());
}

}  // namespace headrace::inline v1::models
