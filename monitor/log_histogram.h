#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::monitor::detail {

/// Counts of durations in buckets 1/16 of an octave wide, from 1 ns to about 18 minutes: a quantile
/// is right to 5 % and the memory does not grow with the run. Not thread-safe.
class LogHistogram {
 public:
  void add(double seconds) {
    ++counts_[bucket(seconds)];
    ++total_;
    max_ = std::max(max_, seconds);
  }

  /// The value below which `share` of the entries lie (upper edge of its bucket, never above the
  /// largest entry).
  double quantile(double share) const {
    if (total_ == 0) return 0.0;
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen >= std::max<std::uint64_t>(wanted, 1)) return std::min(upper_edge(i), max_);
    }
    return max_;
  }

  double max() const { return max_; }

 private:
  static constexpr double unit = 1e-9;
  static constexpr std::size_t per_octave = 16;
  static constexpr std::size_t octaves = 40;

  static std::size_t bucket(double seconds) {
    if (!(seconds > unit)) return 0;
    const double place = std::log2(seconds / unit) * per_octave;
    return std::min(static_cast<std::size_t>(place) + 1, octaves * per_octave);
  }
  static double upper_edge(std::size_t bucket) {
    return bucket == 0 ? 0.0 : unit * std::exp2(static_cast<double>(bucket) / per_octave);
  }

  std::array<std::uint64_t, octaves * per_octave + 1> counts_{};
  std::uint64_t total_ = 0;
  double max_ = 0.0;
};

}  // namespace headrace::inline v1::monitor::detail
