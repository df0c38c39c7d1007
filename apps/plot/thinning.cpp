#include <headrace/apps/plot/thinning.h>

#include <algorithm>

namespace headrace::inline v1::app {

void ThinCurve::Cell::add(const CurvePoint& point) {
  if (count == 0 || point.y < low.y) low = point;
  if (count == 0 || point.y > high.y) high = point;
  ++count;
}

void ThinCurve::Cell::merge(const Cell& behind) {
  if (behind.count == 0) return;
  const bool was_empty = count == 0;
  if (was_empty || behind.low.y < low.y) low = behind.low;
  if (was_empty || behind.high.y > high.y) high = behind.high;
  begins = begins || behind.begins;
  count += behind.count;
}

void ThinCurve::add(double x, double y) {
  if (!std::isfinite(x) || !std::isfinite(y)) return;
  Cell& cell = columns_.at(x);
  if (gap_ > 0.0 && x - last_x_ > gap_) cell.begins = true;
  cell.add({x, y});
  last_x_ = x;
  ++count_;
  sum_ += y;
  low_ = std::min(low_, y);
  high_ = std::max(high_, y);
}

std::vector<CurvePoint> ThinCurve::points() const {
  std::vector<CurvePoint> points;
  for (const Cell& cell : columns_.cells()) {
    if (cell.count == 0) continue;
    const bool low_first = cell.low.x <= cell.high.x;
    const CurvePoint& first = low_first ? cell.low : cell.high;
    const CurvePoint& second = low_first ? cell.high : cell.low;
    if (cell.begins && !points.empty())
      points.push_back({first.x, std::numeric_limits<double>::quiet_NaN()});
    points.push_back(first);
    if (second.x != first.x) points.push_back(second);
  }
  return points;
}

}  // namespace headrace::inline v1::app
