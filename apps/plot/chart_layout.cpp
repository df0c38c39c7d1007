#include <headrace/apps/plot/chart_layout.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace headrace::inline v1::app {
namespace {

double stacked(const Chart& chart, std::size_t cell) {
  double sum = 0.0;
  for (const ChartBand& band : chart.bands)
    if (cell < band.heights.size() && std::isfinite(band.heights[cell]))
      sum += std::max(0.0, band.heights[cell]);
  return sum;
}

// Whether all places are whole numbers, of epochs or steps.
bool has_whole_places(const Chart& chart) {
  return std::all_of(chart.series.begin(), chart.series.end(), [](const ChartSeries& series) {
    return std::all_of(series.points.begin(), series.points.end(),
                       [](const CurvePoint& point) { return point.x == std::round(point.x); });
  });
}

}  // namespace

ChartLayout::ChartLayout(const Chart& chart, const Box& box) : box_(box) {
  measure(chart);
  if (empty_) return;
  place_axes(has_whole_places(chart));
}

void ChartLayout::measure(const Chart& chart) {
  low_ = chart.low.value_or(HUGE_VAL);
  high_ = chart.high.value_or(-HUGE_VAL);
  first_ = chart.from.value_or(HUGE_VAL);
  last_ = chart.to.value_or(-HUGE_VAL);
  for (const ChartSeries& series : chart.series) {
    for (const CurvePoint& point : series.points) {
      if (!std::isfinite(point.y)) continue;
      empty_ = false;
      low_ = std::min(low_, point.y);
      high_ = std::max(high_, point.y);
      first_ = std::min(first_, point.x);
      last_ = std::max(last_, point.x);
    }
  }
  for (const ChartBand& band : chart.bands) {
    cells_ = std::max(cells_, band.heights.size());
    for (const double tall : band.heights)
      empty_ = empty_ && !std::isfinite(tall);
  }
  for (std::size_t i = 0; i < cells_; ++i)
    high_ = std::max(high_, stacked(chart, i));
  if (cells_ > 0) {
    low_ = std::min(low_, 0.0);
    first_ = 0.5;
    last_ = static_cast<double>(cells_) + 0.5;
  }
  for (const ChartLimit& limit : chart.limits)
    high_ = std::max(high_, limit.y);
}

void ChartLayout::place_axes(bool counts) {
  constexpr double furthest = 1e300;
  first_ = std::clamp(first_, -furthest, furthest);
  last_ = std::clamp(last_, -furthest, furthest);
  if (!(last_ > first_)) {  // a single place in the middle
    const double room = std::max(0.5, 1e-9 * std::abs(first_));
    first_ -= room;
    last_ += room;
  }
  up_ = round_axis(low_, high_, 6);
  along_ = round_axis(first_, last_, 8);
  if (counts) {
    std::erase_if(along_.ticks, [](double tick) { return tick != std::round(tick); });
    along_.decimals = 0;
  }
  const double least = cells_ > 0 ? 1.0 : first_ - 1e-9;
  std::erase_if(along_.ticks, [&](double tick) { return tick < least || tick > last_ + 1e-9; });
}

double ChartLayout::x(double value) const {
  const double share = (value - first_) / (last_ - first_);
  return box_.left + (share > 0.0 ? std::min(share, 1.0) : 0.0) * box_.width;
}

double ChartLayout::y(double value) const {
  return box_.bottom() - std::clamp(up_.place(value), 0.0, 1.0) * box_.height;
}

}  // namespace headrace::inline v1::app
