#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace headrace::inline v1::app {

/// What values of one kind came to.
struct Spread {
  std::size_t count = 0;
  double mean = 0.0;
  double deviation = 0.0;  ///< standard, of a sample (n - 1); 0 below two
};

/// Of those that are finite, and their squares.
Spread spread_over(const std::vector<double>& values);

/// The value that a variable of Student's distribution with so many degrees of freedom (above 0)
/// stays below with that probability (between 0 and 1).
double student_quantile(double probability, double degrees);

/// A difference of two means, `to` - `from`, and how far it may be off.
struct MeanDifference {
  double value = 0.0;
  double half_width = 0.0;  ///< of its confidence interval
  double degrees = 0.0;     ///< of freedom
};

/// By the test of Welch ("The generalization of Student's problem when several different population
/// variances are involved", Biometrika 1947), for normal values whose variances need not agree.
/// Nothing where one of them has less than two values.
std::optional<MeanDifference> welch_difference(const Spread& from, const Spread& to,
                                               double confidence = 0.95);

}  // namespace headrace::inline v1::app
