#include <headrace/augment/detail/portable_math.h>

#include <cmath>

namespace headrace::inline v1::detail {

SineCosine sine_cosine(double degrees) {
  const double quarter = std::nearbyint(degrees / 90.0);
  const double x = (degrees - 90.0 * quarter) * (3.14159265358979323846 / 180.0);
  double sine = 0;
  double cosine = 0;
  for (int k = 8; k > 0; --k) {  // Horner; the next term is below 2^-60 for |x| <= pi / 4
    sine = -x * x * (1 + sine) / ((2 * k) * (2 * k + 1));
    cosine = -x * x * (1 + cosine) / ((2 * k - 1) * (2 * k));
  }
  sine = x * (1 + sine);
  cosine = 1 + cosine;
  switch (((static_cast<long>(quarter) % 4) + 4) % 4) {
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    case 3:
      return {-cosine, sine};
    default:
      return {sine, cosine};
  }
}

double exponential(double x) {
  // ln 2 in two parts: the first has so few bits that its product with `halvings` is exact.
  constexpr double ln2_high = 0x1.62e42fefap-1;
  constexpr double ln2_low = 0x1.cf79abc9e3b3ap-40;
  const double halvings = std::nearbyint(x / (ln2_high + ln2_low));
  const double rest = (x - halvings * ln2_high) - halvings * ln2_low;
  double sum = 0;
  for (int k = 18; k > 0; --k)
    sum = rest * (1 + sum) / k;
  return std::ldexp(1 + sum, static_cast<int>(halvings));
}

double logarithm(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1);
  double sum = 0;
  for (int k = 23; k > 1; k -= 2)  // the next term is below 2^-60 for |s| <= 0.1716
    sum = s * s * (1.0 / k + sum);
  return 0x1.62e42fefa39efp-1 * exponent + 2 * (s + s * sum);
}

}  // namespace headrace::inline v1::detail
