#pragma once

#include <headrace/loaders/image/resize.h>

#include <cstdint>
#include <vector>

namespace headrace::inline v1::detail {

/// Taps of an output at most: what FilterTaps::count will be.
int most_taps(const ResizeAxis& axis, Resample resample);

/// Weights of one axis: output i is the sum over k < count of weights[i * count + k] *
/// input[first[i] + k]. Each row of weights sums to `one`; every index lies in the axis's [first,
/// last).
struct FilterTaps {
  int count = 0;
  std::vector<std::int32_t> first;
  std::vector<std::uint64_t> weights;

  /// Fills the taps; keeps the memory of former calls.
  void make(const ResizeAxis& axis, Resample resample, std::uint64_t one);

 private:
  int weigh(const ResizeAxis& axis, double centre, double radius, double inverse);

  std::vector<double> scratch_;
  int scratch_first_ = 0;
};

}  // namespace headrace::inline v1::detail
