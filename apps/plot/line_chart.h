#pragma once

#include <headrace/apps/plot/canvas.h>

#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A line of a chart: its value at 1, 2, 3, ... along the axis. What is no number is left out.
struct Series {
  std::vector<double> values{};
  Colour colour{};
  std::string name{};  ///< in the legend; empty: not there
  double thickness = 1.0;
};

/// A ring around a place.
struct Mark {
  int at = 1;
  double value = 0.0;
  std::string text{};  ///< in the legend
  Colour colour{};
};

/// A shaded part of the axis, behind the lines.
struct Band {
  double from = 1.0;
  double to = 1.0;
  Colour colour{};
};

/// Values that an axis reaches to at least.
struct Range {
  double low = 0.0;
  double high = 1.0;
};

struct LineChart {
  std::string title{};
  std::string below{};           ///< what is counted along the axis: "epoch"
  std::vector<Series> series{};  ///< later ones are drawn over earlier ones
  std::optional<Mark> mark{};
  std::vector<Band> bands{};
  std::optional<Range> range{};
};

/// Draws a chart into a box: round ticks with faint lines at their height, title and legend above.
/// Nothing is drawn without a number in it.
void draw(Canvas& canvas, const Box& box, const LineChart& chart);

}  // namespace headrace::inline v1::app
