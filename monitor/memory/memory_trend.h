#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headrace::inline v1::monitor {

/// A figure of an epoch.
struct EpochBytes {
  std::int64_t epoch = 0;
  std::uint64_t bytes = 0;
};

/// How figures go on from epoch to epoch, in bytes an epoch.
struct MemorySlope {
  double per_epoch = 0.0;
  /// An interval with nine chances in ten to hold the slope; of fewer than four figures there is
  /// none, and it is without bounds.
  double low = 0.0;
  double high = 0.0;
};

/// The median of the slopes between all pairs of figures, which a few outliers do not move, with
/// its interval by Kendall's statistic (P. K. Sen, Journal of the American Statistical Association
/// 63, 1968). `figures` are of different epochs, two of them or more, in their order.
HEADRACE_API MemorySlope theil_sen(std::span<const EpochBytes> figures);

/// Memory that grows from epoch to epoch.
struct MemoryGrowth {
  MemorySlope slope{};
  EpochBytes first{};
  EpochBytes last{};

  /// By the slope, from the first epoch to the last; bytes.
  double bytes() const { return slope.per_epoch * static_cast<double>(last.epoch - first.epoch); }
};

/// Finds growth in a figure that is taken once an epoch. The first epoch that is added is no part
/// of it: caches fill and heaps find their size. Of many figures 32 to 64 are kept, of all epochs
/// but more of the newest. Not thread-safe.
class HEADRACE_API MemoryTrend {
 public:
  /// Epochs in their order; one that is done again takes the place of what was said of it.
  void add(std::int64_t epoch, std::uint64_t bytes);

  /// Growth that goes on (the newest epoch brought at least half of the slope), that matters (more
  /// than 1 % of the figure, and more than 16 MiB) and that is no chance: by the lower end of the
  /// slope's interval it is more than half of that. Nothing of fewer than four figures.
  std::optional<MemoryGrowth> growth() const;

 private:
  bool first_seen_ = false;
  std::int64_t first_epoch_ = 0;
  std::vector<EpochBytes> figures_;
};

}  // namespace headrace::inline v1::monitor
