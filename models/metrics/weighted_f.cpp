#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/saliency_pair.h>
#include <headrace/models/metrics/weighted_f.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace headrace::inline v1::models {

namespace {

constexpr std::int32_t none = -1;

// A column's nearest pixel as a row sees it.
struct Site {
  std::int64_t column;
  std::int64_t height;  // squared distance within the column
  std::int32_t row;

  std::int64_t squared_distance(std::int64_t to) const {
    return (to - column) * (to - column) + height;
  }
};

// Whether `middle` is nowhere on the row as near as `left` or `right`.
bool is_hidden(const Site& left, const Site& middle, const Site& right) {
  const std::int64_t a = middle.column - left.column;
  const std::int64_t b = right.column - middle.column;
  const std::int64_t c = a + b;
  return c * middle.height - b * left.height - a * right.height - a * b * c > 0;
}

// Leaves in each place's row the nearest of its column, or none.
void search_columns(std::span<const std::uint8_t> mask, SaliencySize size,
                    std::vector<PixelPlace>& nearest) {
  const auto width = static_cast<std::size_t>(size.width);
  std::vector<std::int32_t> last(width, none);
  for (std::int32_t row = 0; row < size.height; ++row) {
    const std::size_t first = static_cast<std::size_t>(row) * width;
    for (std::size_t column = 0; column < width; ++column) {
      if (mask[first + column] != 0) last[column] = row;
      nearest[first + column].row = last[column];
    }
  }
  last.assign(width, none);
  for (auto row = static_cast<std::int32_t>(size.height); row-- > 0;) {
    const std::size_t first = static_cast<std::size_t>(row) * width;
    for (std::size_t column = 0; column < width; ++column) {
      if (mask[first + column] != 0) last[column] = row;
      std::int32_t& above = nearest[first + column].row;
      const std::int32_t below = last[column];
      if (below != none && (above == none || below - row < row - above)) above = below;
    }
  }
}

// From the nearest of each column to the nearest of all, in one row.
void search_row(std::int64_t row, std::span<PixelPlace> places, std::vector<Site>& sites) {
  sites.clear();
  for (std::size_t column = 0; column < places.size(); ++column) {
    const std::int32_t found = places[column].row;
    if (found == none) continue;
    const std::int64_t away = found - row;
    const Site site{static_cast<std::int64_t>(column), away * away, found};
    while (sites.size() > 1 && is_hidden(sites.end()[-2], sites.back(), site))
      sites.pop_back();
    sites.push_back(site);
  }
  auto site = sites.begin();
  for (std::size_t column = 0; column < places.size(); ++column) {
    const auto x = static_cast<std::int64_t>(column);
    while (site + 1 != sites.end() && site[1].squared_distance(x) < site->squared_distance(x))
      ++site;
    places[column] = {site->row, static_cast<std::int32_t>(site->column)};
  }
}

}  // namespace

std::vector<PixelPlace> nearest_object(std::span<const std::uint8_t> mask, SaliencySize size) {
  if (static_cast<std::int64_t>(mask.size()) != size.height * size.width)
    throw DataError("[nearest_object] a mask of " + std::to_string(size.height) + " x " +
                    std::to_string(size.width) + " was expected, got " +
                    std::to_string(mask.size()) + " pixels");
  if (std::ranges::all_of(mask, [](std::uint8_t value) { return value == 0; }))
    throw DataError("[nearest_object] a mask must have a pixel that is not 0");
  std::vector<PixelPlace> nearest(mask.size());
  search_columns(mask, size, nearest);
  const auto width = static_cast<std::size_t>(size.width);
  std::vector<Site> sites;
  sites.reserve(width);
  for (std::int64_t row = 0; row < size.height; ++row) {
    const std::span places =
        std::span(nearest).subspan(static_cast<std::size_t>(row) * width, width);
    search_row(row, places, sites);
  }
  return nearest;
}

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
