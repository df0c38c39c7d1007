#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace headrace::inline v1::app {

/// Cells side by side along an axis whose end is not known beforehand: where one more would be too
/// many, each two become one. A Cell has `void merge(const Cell& behind)`. Not thread-safe.
template <class Cell>
class Columns {
 public:
  /// At most `most` cells are kept (at least 2), and of an axis that is longer no less than half as
  /// many; `width` is that of a cell at first.
  Columns(std::size_t most, double width) : most_(most), width_(width) {}

  /// The cell at a finite place. One before the first place of all is in the first cell.
  Cell& at(double x) {
    if (cells_.empty()) origin_ = x;
    while (place(x) >= static_cast<double>(most_))
      halve();
    const auto index = static_cast<std::size_t>(place(x));
    if (index >= cells_.size()) cells_.resize(index + 1);
    return cells_[index];
  }

  const std::vector<Cell>& cells() const { return cells_; }
  /// Where a cell begins.
  double begin_of(std::size_t cell) const { return origin_ + width_ * static_cast<double>(cell); }

 private:
  double place(double x) const { return std::max(0.0, std::floor((x - origin_) / width_)); }

  void halve() {
    for (std::size_t i = 0; 2 * i < cells_.size(); ++i) {
      Cell merged = cells_[2 * i];
      if (2 * i + 1 < cells_.size()) merged.merge(cells_[2 * i + 1]);
      cells_[i] = merged;
    }
    cells_.resize((cells_.size() + 1) / 2);
    width_ *= 2.0;
  }

  std::size_t most_;
  double width_;
  double origin_ = 0.0;
  std::vector<Cell> cells_;
};

/// A place of a line; the line is broken where y is no number.
struct CurvePoint {
  double x = 0.0;
  double y = 0.0;
};

/// A curve of any length in bounded memory: of each column its lowest and its highest point stay.
/// Not thread-safe.
class ThinCurve {
 public:
  /// For a chart of at most so many columns; a column is `width` of the axis at first. Points more
  /// than `gap` apart are not joined; 0: all are.
  explicit ThinCurve(std::size_t columns = 420, double width = 1.0, double gap = 0.0)
      : columns_(columns, width), gap_(gap) {}

  /// What is not finite is left out.
  void add(double x, double y);

  bool empty() const { return count_ == 0; }
  double low() const { return low_; }
  double high() const { return high_; }
  double mean() const { return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_); }

  /// At most two points a column, by x, and one that is no number before each gap.
  std::vector<CurvePoint> points() const;
  /// The mean of each column, and what is no number before each gap.
  std::vector<CurvePoint> means() const;
  /// Whether columns hold more than points() shows of them.
  bool thinned() const;

 private:
  struct Cell {
    std::size_t count = 0;
    bool begins = false;  // a line: what is before is not joined
    double sum_x = 0.0;
    double sum_y = 0.0;
    CurvePoint low{};
    CurvePoint high{};

    void add(const CurvePoint& point);
    void merge(const Cell& behind);
  };

  Columns<Cell> columns_;
  double gap_;
  double last_x_ = std::numeric_limits<double>::quiet_NaN();
  std::size_t count_ = 0;
  double sum_ = 0.0;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

}  // namespace headrace::inline v1::app
