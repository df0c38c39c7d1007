#pragma once

#include <headrace/apps/plot/canvas.h>
#include <headrace/apps/plot/thin_curve.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Colours that a chart has, by number: blue, orange, green, purple, sky, amber, grey, red.
inline constexpr std::size_t chart_colours = 8;
Colour chart_colour(std::size_t number);

/// Longer curves are lines without discs at their points.
inline constexpr std::size_t most_shown_points = 40;

struct ChartSeries {
  std::string name{};  ///< in the legend; empty: not there
  std::vector<CurvePoint> points{};
  std::size_t colour = 0;
  bool faint = false;
  /// Drawn over the points, which then are a pale ground: means of columns that hold many.
  std::vector<CurvePoint> means{};
};

/// A layer of a stack: its height in each cell 1, 2, 3, ... of the axis.
struct ChartBand {
  std::string name{};
  std::vector<double> heights{};
  std::size_t colour = 0;
};

/// A part of the axis with a ground of its own, over the whole height or as a strip at its foot.
struct ChartSpan {
  double from = 0.0;
  double to = 0.0;
  std::string title{};
  std::size_t colour = 0;
  bool strip = false;
  std::string label{};  ///< stands in it where it has room
  bool shaded = true;   ///< false: the label alone
};

/// A ring at a place.
struct ChartMark {
  double x = 0.0;
  double y = 0.0;
  std::string title{};
  std::size_t colour = 0;
};

/// A dashed line at a height.
struct ChartLimit {
  double y = 0.0;
  std::string name{};
};

struct Chart {
  std::string title{};
  std::string unit{};            ///< of the heights; may be empty
  std::string below{};           ///< what the axis counts: "epoch"
  std::optional<double> low{};   ///< end of the heights, unless a value is below it
  std::optional<double> high{};  ///< likewise, above it
  std::optional<double> from{};  ///< where the axis begins, unless a place is before it
  std::optional<double> to{};    ///< likewise, where it ends
  std::vector<ChartSeries> series{};
  std::vector<ChartBand> bands{};
  std::vector<ChartSpan> spans{};
  std::vector<ChartMark> marks{};
  std::vector<ChartLimit> limits{};
};

/// A chart as a `<figure>` of HTML: title and legend as text, an inline `<svg>` that is as wide as
/// there is room, and what is at a place as its `<title>`, which browsers show under the mouse.
/// Names and titles may hold anything. Looks right where the page has svg_chart_style(). Empty
/// without a number.
std::string to_html(const Chart& chart);

/// Draws the same chart into a box of a canvas: title and legend above. The titles of marks are in
/// the legend, those of spans nowhere. Nothing without a number.
void draw(Canvas& canvas, const Box& box, const Chart& chart);

/// Rules of CSS that charts need, for light and dark screens and for paper.
std::string svg_chart_style();

}  // namespace headrace::inline v1::app
