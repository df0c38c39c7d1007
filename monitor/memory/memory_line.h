#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <optional>
#include <span>

namespace headrace::inline v1::monitor {

/// What a step took with batches of so many rows.
struct MemoryPoint {
  std::int64_t rows = 0;
  std::uint64_t bytes = 0;
};

/// Memory over rows, bytes = base + per_row * rows, by least squares of measured points. A peak is
/// the largest of several such lines (forward pass, backward pass, optimiser's step): where points
/// lie on more than one, the line is that of the two with the most rows.
class HEADRACE_API MemoryLine {
 public:
  MemoryLine() = default;
  /// One point or more, in any order; of one the line goes through `base`, what is held without
  /// rows. Throws ConfigError for none, and for two of the same rows.
  explicit MemoryLine(std::span<const MemoryPoint> points, std::uint64_t base = 0);

  double base() const { return base_; }        ///< bytes, not below 0
  double per_row() const { return per_row_; }  ///< likewise
  /// The largest difference between a point and the line, as a share of the point.
  double misfit() const { return misfit_; }
  std::uint64_t at(std::int64_t rows) const;
  /// The most rows that fit `bytes`; none where not one row does. Of a line without a slope as many
  /// as a number can say.
  std::optional<std::int64_t> most_rows(std::uint64_t bytes) const;

 private:
  double base_ = 0.0;
  double per_row_ = 0.0;
  double misfit_ = 0.0;
};

}  // namespace headrace::inline v1::monitor
