#include <headrace/apps/plot/chart_scale.h>

#include <array>

namespace headrace::inline v1::app {

ByteScale byte_scale(double most) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  double unit = 1.0;
  std::size_t place = 0;
  for (; most >= 1024.0 * unit && place + 1 < units.size(); ++place)
    unit *= 1024.0;
  return {.factor = 1.0 / unit, .unit = units[place]};
}

TimeUnit time_unit(double seconds) {
  if (seconds < 180.0) return {};
  if (seconds < 3.0 * 3600.0) return {60.0, "minutes"};
  if (seconds < 72.0 * 3600.0) return {3600.0, "hours"};
  return {86'400.0, "days"};
}

ChartSeries series_of(const ThinCurve& curve, double begin_x, double factor_x, double factor_y) {
  ChartSeries series{.points = scaled(curve.points(), begin_x, factor_x, factor_y)};
  if (curve.thinned()) series.means = scaled(curve.means(), begin_x, factor_x, factor_y);
  return series;
}

std::vector<CurvePoint> scaled(const std::vector<CurvePoint>& points, double begin_x,
                               double factor_x, double factor_y) {
  std::vector<CurvePoint> moved;
  moved.reserve(points.size());
  for (const CurvePoint& point : points)
    moved.push_back({(point.x - begin_x) * factor_x, point.y * factor_y});
  return moved;
}

}  // namespace headrace::inline v1::app
