#pragma once

#include <headrace/apps/plot/chart.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// "2.11" GiB and the like: the factor that brings bytes (a second) of at most that many to a unit,
/// and its name.
struct ByteScale {
  double factor = 1.0;
  std::string unit{};
};
ByteScale byte_scale(double most);

/// What an axis counts that is so many seconds long.
struct TimeUnit {
  double seconds = 1.0;
  const char* name = "seconds";
};
TimeUnit time_unit(double seconds);

/// A curve as a line of a chart, with another measure along both axes; where it is thinned, with
/// the means of its columns.
ChartSeries series_of(const ThinCurve& curve, double begin_x = 0.0, double factor_x = 1.0,
                      double factor_y = 1.0);

/// Points with another measure along both axes.
std::vector<CurvePoint> scaled(const std::vector<CurvePoint>& points, double begin_x,
                               double factor_x, double factor_y);

}  // namespace headrace::inline v1::app
