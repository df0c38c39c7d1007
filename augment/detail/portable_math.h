#pragma once

namespace headrace::inline v1::detail {

// From sums, products and quotients alone, each rounded apart: the C library's functions differ in
// their last bit from one processor to another.

struct SineCosine {
  double sine;
  double cosine;
};

/// Exact at multiples of 90 degrees, within a few units of the last place elsewhere.
SineCosine sine_cosine(double degrees);

/// e^x for |x| < 700, relative error below 1e-15.
double exponential(double x);

/// Natural logarithm of a positive, normal x, absolute error below 1e-15 + its own rounding.
double logarithm(double x);

}  // namespace headrace::inline v1::detail
