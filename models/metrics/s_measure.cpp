#include <headrace/models/metrics/s_measure.h>
#include <headrace/models/metrics/saliency_pair.h>

#include <algorithm>
#include <cmath>

namespace headrace::inline v1::models {

using detail::divisor_eps;

namespace {

// Rows and columns from the first up to, without, the last.
struct Quadrant {
  std::int64_t top;
  std::int64_t bottom;
  std::int64_t left;
  std::int64_t right;

  double pixels() const { return static_cast<double>((bottom - top) * (right - left)); }
};

// Calls visit(p, g) for each pixel of the quadrant and ends its rows with end_row().
template <class Visit, class EndRow>
void each_pixel(const SaliencyPair& pair, const Quadrant& in, const Visit& visit,
                const EndRow& end_row) {
  for (std::int64_t row = in.top; row < in.bottom; ++row) {
    const double* p = pair.prediction().data() + row * pair.width();
    const std::uint8_t* g = pair.mask().data() + row * pair.width();
    for (std::int64_t column = in.left; column < in.right; ++column)
      visit(p[column], static_cast<double>(g[column]));
    end_row();
  }
}

Quadrant whole(const SaliencyPair& pair) {
  return {0, pair.height(), 0, pair.width()};
}

// Two sums that are taken row by row.
struct Sums {
  double first = 0.0;
  double second = 0.0;

  template <class First, class Second>
  static Sums over(const SaliencyPair& pair, const Quadrant& in, const First& first,
                   const Second& second) {
    Sums all;
    Sums row;
    each_pixel(
        pair, in,
        [&](double p, double g) {
          row.first += first(p, g);
          row.second += second(p, g);
        },
        [&] {
          all.first += row.first;
          all.second += row.second;
          row = {};
        });
    return all;
  }
};

double evenness(double mean, double squares, double pixels) {
  const double deviation = pixels > 1.0 ? std::sqrt(squares / (pixels - 1.0)) : 0.0;
  return 2.0 * mean / (mean * mean + 1.0 + deviation + divisor_eps);
}

double object_part(const SaliencyPair& pair) {
  const auto object = static_cast<double>(pair.object_pixels());
  const double rest = static_cast<double>(pair.pixels()) - object;
  const Sums sums = Sums::over(
      pair, whole(pair), [](double p, double g) { return p * g; },
      [](double p, double g) { return (1.0 - p) * (1.0 - g); });
  const double inside = sums.first / object;
  const double outside = sums.second / rest;
  const Sums squares = Sums::over(
      pair, whole(pair), [&](double p, double g) { return (p - inside) * (p - inside) * g; },
      [&](double p, double g) { return (1.0 - p - outside) * (1.0 - p - outside) * (1.0 - g); });
  const double share = object / static_cast<double>(pair.pixels());
  return evenness(inside, squares.first, object) * share +
         evenness(outside, squares.second, rest) * (1.0 - share);
}

bool is_constant(const SaliencyPair& pair, const Quadrant& in) {
  const double first = pair.prediction()[static_cast<std::size_t>(in.top * pair.width() + in.left)];
  for (std::int64_t row = in.top; row < in.bottom; ++row) {
    const auto values =
        pair.prediction().subspan(static_cast<std::size_t>(row * pair.width() + in.left),
                                  static_cast<std::size_t>(in.right - in.left));
    if (std::ranges::any_of(values, [&](double p) { return p != first; })) return false;
  }
  return true;
}

double similarity(const SaliencyPair& pair, const Quadrant& in) {
  const double n = in.pixels();
  const Sums sums = Sums::over(
      pair, in, [](double p, double) { return p; }, [](double, double g) { return g; });
  const double x = sums.first / n;
  const double y = sums.second / n;
  Sums products;
  if (!is_constant(pair, in))
    products = Sums::over(
        pair, in, [&](double p, double) { return (p - x) * (p - x); },
        [&](double p, double g) { return (p - x) * (g - y); });
  const double variance_y = sums.second * (1.0 - y) * (1.0 - y) + (n - sums.second) * y * y;
  const double divisor = n - 1.0 + divisor_eps;
  const double a = 4.0 * x * y * (products.second / divisor);
  const double b = (x * x + y * y) * (products.first / divisor + variance_y / divisor);
  if (a != 0.0) return a / (b + divisor_eps);
  return b == 0.0 ? 1.0 : 0.0;
}

struct Centre {
  std::int64_t row;
  std::int64_t column;
};

// The first row and column behind the object's centre, rounded half to even.
Centre behind_centre(const SaliencyPair& pair) {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  for (std::int64_t row = 0; row < pair.height(); ++row) {
    const std::uint8_t* mask = pair.mask().data() + row * pair.width();
    for (std::int64_t column = 0; column < pair.width(); ++column) {
      rows += mask[column] * row;
      columns += mask[column] * column;
    }
  }
  const auto object = static_cast<double>(pair.object_pixels());
  return {static_cast<std::int64_t>(std::nearbyint(static_cast<double>(rows) / object)) + 1,
          static_cast<std::int64_t>(std::nearbyint(static_cast<double>(columns) / object)) + 1};
}

double region_part(const SaliencyPair& pair) {
  const auto [row, column] = behind_centre(pair);
  const std::int64_t height = pair.height();
  const std::int64_t width = pair.width();
  double sum = 0.0;
  for (const Quadrant& in :
       {Quadrant{0, row, 0, column}, Quadrant{0, row, column, width},
        Quadrant{row, height, 0, column}, Quadrant{row, height, column, width}}) {
    if (in.pixels() > 0.0)
      sum += similarity(pair, in) * in.pixels() / static_cast<double>(pair.pixels());
  }
  return sum;
}

}  // namespace

SMeasure s_measure(const SaliencyPair& pair, double alpha) {
  if (pair.is_one_sided()) {
    const double value = pair.object_pixels() == 0 ? 1.0 - pair.mean() : pair.mean();
    return {value, value, value};
  }
  SMeasure measure{.object = object_part(pair), .region = region_part(pair)};
  measure.value = std::max(0.0, alpha * measure.object + (1.0 - alpha) * measure.region);
  return measure;
}

}  // namespace headrace::inline v1::models
