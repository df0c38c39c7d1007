#include <headrace/augment/detail/normal_quantiles.h>
#include <headrace/augment/detail/portable_math.h>

#include <array>
#include <cstddef>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t half = 2048;

double density(double x) {
  return 0.39894228040143268 * exponential(-0.5 * x * x);
}

/// Probability between 0 and x, 0 <= x < 4: the density times x + x^3 / 3 + x^5 / 15 + ...
double share(double x) {
  double term = x;
  double sum = x;
  for (int k = 3; k < 140; k += 2) {
    term *= x * x / k;
    sum += term;
  }
  return density(x) * sum;
}

/// The upper half; the lower one is its mirror image.
std::array<double, half> make_quantiles() {
  std::array<double, half> quantiles{};
  double x = 0;
  for (std::size_t i = 0; i < half; ++i) {
    const double wanted = (static_cast<double>(i) + 0.5) / (2 * half);
    for (int step = 0; step < 6; ++step)  // Newton, from the neighbour
      x -= (share(x) - wanted) / density(x);
    quantiles[i] = x;
  }
  return quantiles;
}

}  // namespace

double normal_quantile(std::uint32_t bits) {
  static const std::array<double, half> quantiles = make_quantiles();
  const double value = quantiles[(bits >> 20) & (half - 1)];
  return (bits >> 31) != 0 ? -value : value;
}

}  // namespace headrace::inline v1::detail
