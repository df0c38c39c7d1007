#include <headrace/apps/plot/thin_curve.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

using headrace::app::CurvePoint;
using headrace::app::ThinCurve;

namespace {

bool holds(const std::vector<CurvePoint>& points, double x, double y) {
  return std::any_of(points.begin(), points.end(),
                     [&](const CurvePoint& point) { return point.x == x && point.y == y; });
}

}  // namespace

TEST_CASE("a short curve stays as it is") {
  ThinCurve curve(100);
  for (int i = 0; i < 50; ++i)
    curve.add(i, std::sin(i));
  const auto points = curve.points();
  REQUIRE(points.size() == 50);
  CHECK_FALSE(curve.thinned());
  for (int i = 0; i < 50; ++i) {
    CHECK(points[static_cast<std::size_t>(i)].x == i);
    CHECK(points[static_cast<std::size_t>(i)].y == std::sin(i));
  }
}

TEST_CASE("of a long curve each column keeps its lowest and its highest point") {
  constexpr int count = 1'000'000;
  constexpr std::size_t columns = 200;
  ThinCurve curve(columns);
  for (int i = 0; i < count; ++i)
    curve.add(i, i == 777'777 ? 1000.0 : i == 123'456 ? -1000.0 : std::sin(0.001 * i));
  const auto points = curve.points();
  CHECK(points.size() <= 2 * columns);
  CHECK(points.size() >= columns);
  CHECK(holds(points, 777'777, 1000.0));
  CHECK(holds(points, 123'456, -1000.0));
  CHECK(curve.thinned());
  const auto means = curve.means();
  CHECK(means.size() <= columns);
  for (const CurvePoint& mean : means)
    CHECK(std::abs(mean.y) < 2.0);
  CHECK(curve.high() == 1000.0);
  CHECK(curve.low() == -1000.0);
  CHECK(std::is_sorted(points.begin(), points.end(),
                       [](const auto& a, const auto& b) { return a.x < b.x; }));
  // No part of the axis lost its points.
  for (std::size_t i = 1; i < points.size(); ++i)
    CHECK(points[i].x - points[i - 1].x <= 4.0 * count / columns);
}

TEST_CASE("a curve is broken where nothing was measured for long") {
  ThinCurve curve(100, 1.0, 5.0);
  for (const double x : {0.0, 1.0, 2.0, 40.0, 41.0})
    curve.add(x, 1.0);
  const auto points = curve.points();
  REQUIRE(points.size() == 6);
  CHECK(std::isnan(points[3].y));
  CHECK(points[4].x == 40.0);
}

TEST_CASE("what is no number is no point, and a place before the first is not lost") {
  ThinCurve curve(10);
  curve.add(100.0, std::numeric_limits<double>::quiet_NaN());
  curve.add(std::numeric_limits<double>::infinity(), 1.0);
  CHECK(curve.empty());
  CHECK(curve.points().empty());
  curve.add(100.0, 1.0);
  curve.add(90.0, -5.0);  // a clock that went back
  curve.add(1e15, 2.0);
  CHECK(curve.low() == -5.0);
  CHECK(curve.points().size() == 3);
}
