#pragma once

#include <headrace/loaders/volume/detail/case/case_files.h>
#include <headrace/loaders/volume/detail/case/case_slices.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <stop_token>
#include <vector>

namespace headrace::inline v1::detail {

/// Of some values, in double.
struct ValueFigures {
  double count = 0;
  double mean = 0;
  double squares = 0;    ///< sum of squared distances from the mean
  double distances = 0;  ///< sum of distances from the mean of the slice that a value is of
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  static ValueFigures of_zeros(double count) noexcept;

  /// Together with other values.
  void add(const ValueFigures& other) noexcept;
  /// Of the population.
  double deviation() const noexcept { return count > 0 ? std::sqrt(squares / count) : 0.0; }
};

/// What a case's images are, but for voxels that are 0 in all channels.
struct CaseStatistics {
  GrowingBox box{};
  std::vector<ValueFigures> channels{};
};

/// Reads a case once, slice by slice, and checks it (CaseSlices). Nothing where it is stopped.
std::optional<CaseStatistics> case_statistics(const CaseFiles& files, std::size_t cache_bytes,
                                              const LabelValues& labels,
                                              const std::stop_token& stop);

}  // namespace headrace::inline v1::detail
