#include <headrace/apps/plot/thin_curve.h>

#include <algorithm>

namespace headrace::inline v1::app {

void ThinCurve::Cell::add(const CurvePoint& point) {
  if (count == 0 || point.y < low.y) low = point;
  if (count == 0 || point.y > high.y) high = point;
  sum_x += point.x;
  sum_y += point.y;
  ++count;
}

void ThinCurve::Cell::merge(const Cell& behind) {
  if (behind.count == 0) return;
  const bool was_empty = count == 0;
  if (was_empty || behind.low.y < low.y) low = behind.low;
  if (was_empty || behind.high.y > high.y) high = behind.high;
  begins = begins || behind.begins;
  sum_x += behind.sum_x;
  sum_y += behind.sum_y;
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

bool ThinCurve::thinned() const {
  const auto& cells = columns_.cells();
  return std::any_of(cells.begin(), cells.end(), [](const Cell& cell) { return cell.count > 2; });
}

std::vector<CurvePoint> ThinCurve::means() const {
  std::vector<CurvePoint> means;
  for (const Cell& cell : columns_.cells()) {
    if (cell.count == 0) continue;
    const auto count = static_cast<double>(cell.count);
    const CurvePoint mean{cell.sum_x / count, cell.sum_y / count};
    if (cell.begins && !means.empty())
      means.push_back({mean.x, std::numeric_limits<double>::quiet_NaN()});
    means.push_back(mean);
  }
  return means;
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
