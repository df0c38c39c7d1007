#include <headrace/augment/detail/beta.h>
#include <headrace/augment/detail/portable_math.h>

#include <cmath>

namespace headrace::inline v1::detail {
namespace {

/// In (0, 1].
double positive_uniform(Random& random) {
  return 1.0 - random.uniform();
}

/// Standard normal (Box-Muller, one of the two).
double draw_normal(Random& random) {
  const double radius = std::sqrt(-2.0 * logarithm(positive_uniform(random)));
  return radius * sine_cosine(360.0 * random.uniform()).cosine;
}

/// Logarithm of a Gamma(alpha, 1) variate: for a small alpha the variate itself would vanish.
double draw_log_gamma(double alpha, Random& random) {
  if (alpha < 1) {
    const double boost = logarithm(positive_uniform(random)) / alpha;
    return draw_log_gamma(alpha + 1, random) + boost;
  }
  const double d = alpha - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = draw_normal(random);
    const double root = 1.0 + c * x;
    const double u = positive_uniform(random);
    if (root <= 0) continue;
    const double v = root * root * root;
    if (logarithm(u) < 0.5 * x * x + d - d * v + d * logarithm(v)) return logarithm(d * v);
  }
}

}  // namespace

double draw_beta(double alpha, Random& random) {
  const double a = draw_log_gamma(alpha, random);
  const double b = draw_log_gamma(alpha, random);
  const double apart = b - a;
  if (apart > 600) return 0.0;
  if (apart < -600) return 1.0;
  return 1.0 / (1.0 + exponential(apart));
}

}  // namespace headrace::inline v1::detail
