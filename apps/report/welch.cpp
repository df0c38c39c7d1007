#include <headrace/apps/report/welch.h>

#include <cmath>

namespace headrace::inline v1::app {
namespace {

// The continued fraction of the incomplete beta function by Lentz's method (Abramowitz and Stegun,
// 26.5.8).
double beta_fraction(double a, double b, double x) {
  constexpr int most_terms = 10'000;
  constexpr double tiny = 1e-300;
  const auto not_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1.0;
  double d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
  double result = d;
  for (int m = 1; m <= most_terms; ++m) {
    const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    d = 1.0 / not_zero(1.0 + even * d);
    c = not_zero(1.0 + even / c);
    result *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    d = 1.0 / not_zero(1.0 + odd * d);
    c = not_zero(1.0 + odd / c);
    const double step = c * d;
    result *= step;
    if (std::abs(step - 1.0) < 1e-15) break;
  }
  return result;
}

// The regularised incomplete beta function.
double incomplete_beta(double a, double b, double x) {
  if (x <= 0.0) return 0.0;
  if (x >= 1.0) return 1.0;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
  return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

// Probability to be above t >= 0.
double upper_tail(double t, double degrees) {
  return 0.5 * incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t));
}

}  // namespace

Spread spread_over(const std::vector<double>& values) {
  Spread spread;
  const auto counts = [](double value) { return std::isfinite(value * value); };
  for (const double value : values) {
    if (!counts(value)) continue;
    ++spread.count;
    spread.mean += (value - spread.mean) / static_cast<double>(spread.count);
  }
  if (spread.count < 2) return spread;
  double squares = 0.0;
  for (const double value : values)
    if (counts(value)) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = std::sqrt(squares / static_cast<double>(spread.count - 1));
  return spread;
}

double student_quantile(double probability, double degrees) {
  if (probability < 0.5) return -student_quantile(1.0 - probability, degrees);
  const double tail = 1.0 - probability;
  double low = 0.0;
  double high = 1.0;
  while (upper_tail(high, degrees) > tail && high < 1e12)
    high *= 2.0;
  for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
    const double middle = (low + high) / 2.0;
    (upper_tail(middle, degrees) > tail ? low : high) = middle;
  }
  return (low + high) / 2.0;
}

std::optional<MeanDifference> welch_difference(const Spread& from, const Spread& to,
                                               double confidence) {
  if (from.count < 2 || to.count < 2) return std::nullopt;
  const auto error_of = [](const Spread& spread) {
    return spread.deviation * spread.deviation / static_cast<double>(spread.count);
  };
  const double first = error_of(from);
  const double second = error_of(to);
  MeanDifference difference{.value = to.mean - from.mean};
  const double sum = first + second;
  if (!(sum > 0.0)) {  // neither varies
    difference.degrees = static_cast<double>(from.count + to.count - 2);
    return difference;
  }
  difference.degrees = sum * sum /
                       (first * first / static_cast<double>(from.count - 1) +
                        second * second / static_cast<double>(to.count - 1));
  difference.half_width =
      student_quantile(0.5 + confidence / 2.0, difference.degrees) * std::sqrt(sum);
  return difference;
}

}  // namespace headrace::inline v1::app
