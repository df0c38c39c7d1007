#pragma once

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// An axis that begins and ends at round numbers: 1, 2 or 5 times a power of ten apart.
struct Axis {
  double low = 0.0;
  double high = 1.0;
  std::vector<double> ticks{};
  int decimals = 0;  ///< of the numbers beside the ticks

  /// Where a value stands: 0 at the low end, 1 at the high one.
  double place(double value) const { return (value - low) / (high - low); }
  /// "0.25".
  std::string label(double tick) const;
};

/// An axis for values from `low` to `high` with at most `most` ticks (at least 2). Values that
/// differ by rounding alone are a constant, which stands in the middle.
Axis round_axis(double low, double high, int most);

}  // namespace headrace::inline v1::app
