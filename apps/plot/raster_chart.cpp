#include <headrace/apps/plot/chart_layout.h>
#include <headrace/apps/plot/look.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>

namespace headrace::inline v1::app {
namespace {

constexpr double numbers_width = 76.0;  // at the left
constexpr double below_height = 44.0;   // numbers and name of the axis
constexpr double right_edge = 18.0;
constexpr double legend_gap = 20.0;
constexpr double bold = 2.2;
constexpr double ring_radius = 6.5;
constexpr TextStyle beside{.colour = look::faint, .anchor = Anchor::right};
constexpr TextStyle axis_words{.colour = look::faint, .anchor = Anchor::middle};

class Raster {
 public:
  Raster(Canvas& canvas, const Box& box, const Chart& chart)
      : canvas_(canvas),
        chart_(chart),
        at_(chart, {.left = box.left + numbers_width,
                    .top = box.top + look::title_height,
                    .width = box.width - numbers_width - right_edge,
                    .height = box.height - look::title_height - below_height}),
        box_(at_.box()) {}

  void run() {
    if (at_.empty()) return;
    for (const ChartSpan& span : chart_.spans)
      if (at_.shows(span)) ground(span);
    axes();
    layers();
    for (const ChartLimit& limit : chart_.limits) {
      level(at_.y(limit.y), look::ink, 2.0);
      canvas_.text(limit.name, {box_.right() - 3.0, at_.y(limit.y) - 9.0},
                   {.colour = look::ink, .anchor = Anchor::right});
    }
    for (const ChartSeries& series : chart_.series)
      curve(series);
    for (const ChartMark& mark : chart_.marks)
      ring({at_.x(mark.x), at_.y(mark.y)}, chart_colour(mark.colour));
    head();
  }

 private:
  void ground(const ChartSpan& span) {
    constexpr double strip = 6.0;
    const double begin = at_.x(span.from);
    const double width = at_.x(span.to) - begin;
    const Box place{.left = begin,
                    .top = span.strip ? box_.bottom() - strip : box_.top,
                    .width = std::max(0.5, width),
                    .height = span.strip ? strip : box_.height};
    if (span.strip || span.shaded)
      canvas_.rectangle(place, chart_colour(span.colour).paler(span.strip ? 0.3 : 0.8));
    if (Canvas::text_width(span.label, {}) < width - 6.0)
      canvas_.text(span.label, {begin + 4.0, box_.top + 9.0}, {.colour = look::faint});
  }

  void level(double y, Colour colour, double thickness = 1.0) {
    const std::array ends{Spot{box_.left, y}, Spot{box_.right(), y}};
    canvas_.line(ends, colour, thickness);
  }

  void axes() {
    for (const double tick : at_.up().ticks) {
      level(at_.y(tick), tick == at_.up().low ? look::axis : look::grid);
      canvas_.text(at_.up().label(tick), {box_.left - 9.0, at_.y(tick)}, beside);
    }
    for (const double tick : at_.along().ticks) {
      const double x = at_.x(tick);
      const std::array ends{Spot{x, box_.bottom()}, Spot{x, box_.bottom() + 5.0}};
      canvas_.line(ends, look::axis, 1.0);
      canvas_.text(at_.along().label(tick), {x, box_.bottom() + 17.0}, axis_words);
    }
    canvas_.text(chart_.below, {box_.left + box_.width / 2.0, box_.bottom() + 36.0}, axis_words);
  }

  void layers() {
    std::vector<double> floor(at_.cells(), 0.0);
    for (const ChartBand& band : chart_.bands)
      for (std::size_t i = 0; i < band.heights.size(); ++i) {
        if (!(band.heights[i] > 0.0)) continue;
        const double foot = at_.y(floor[i]);
        floor[i] += band.heights[i];
        const double from = at_.x(static_cast<double>(i) + 0.5);
        canvas_.rectangle({.left = from,
                           .top = at_.y(floor[i]),
                           .width = at_.x(static_cast<double>(i) + 1.5) - from,
                           .height = foot - at_.y(floor[i])},
                          chart_colour(band.colour).paler(0.2));
      }
  }

  // Broken where there is no number.
  void line(const std::vector<CurvePoint>& points, Colour colour, double thickness, bool discs) {
    std::vector<Spot> piece;
    const auto end_piece = [&] {
      canvas_.line(piece, colour, thickness);
      if (discs || piece.size() == 1)
        for (const Spot& spot : piece)
          canvas_.disc(spot, 1.4 * thickness, colour);
      piece.clear();
    };
    for (const CurvePoint& point : points) {
      if (std::isfinite(point.y))
        piece.push_back({at_.x(point.x), at_.y(point.y)});
      else
        end_piece();
    }
    end_piece();
  }

  void curve(const ChartSeries& series) {
    const Colour colour = chart_colour(series.colour);
    if (!series.means.empty()) {
      line(series.points, colour.paler(0.75), 1.0, false);
      line(series.means, colour, bold, false);
    } else if (series.faint) {
      line(series.points, colour.paler(0.65), 1.0, series.points.size() <= most_shown_points);
    } else {
      line(series.points, colour, bold, series.points.size() <= most_shown_points);
    }
  }

  void ring(Spot at, Colour colour) {
    canvas_.disc(at, ring_radius, colour);
    canvas_.disc(at, ring_radius - 2.5, look::paper);
  }

  // The legend from the right, and the title, which has the room that is left.
  void head() {
    legend_end_ = {box_.right(), box_.top - 22.0};
    for (const ChartMark& mark : chart_.marks | std::views::reverse)
      if (entry(mark.title)) {
        ring({legend_end_.x - ring_radius, legend_end_.y}, chart_colour(mark.colour));
        legend_end_.x -= 2.0 * ring_radius + legend_gap;
      }
    for (const ChartBand& band : chart_.bands | std::views::reverse)
      if (entry(band.name)) key(chart_colour(band.colour));
    for (const ChartSeries& series : chart_.series | std::views::reverse)
      if (entry(series.name)) key(chart_colour(series.colour));
    const std::string unit = chart_.unit.empty() ? std::string() : ", " + chart_.unit;
    canvas_.text(cut_to_width(chart_.title + unit, legend_end_.x - box_.left, look::title),
                 {box_.left, legend_end_.y}, look::title);
  }

  // Whether there is one; its sign ends where the legend then does.
  bool entry(const std::string& text) {
    if (text.empty()) return false;
    canvas_.text(text, legend_end_, {.colour = look::ink, .anchor = Anchor::right});
    legend_end_.x -= Canvas::text_width(text, {}) + 8.0;
    return true;
  }

  void key(Colour colour) {
    constexpr double length = 24.0;
    const std::array ends{Spot{legend_end_.x - length, legend_end_.y}, legend_end_};
    canvas_.line(ends, colour, bold);
    legend_end_.x -= length + legend_gap;
  }

  Canvas& canvas_;
  const Chart& chart_;
  ChartLayout at_;
  Box box_;  // of the lines alone
  Spot legend_end_{};
};

}  // namespace

void draw(Canvas& canvas, const Box& box, const Chart& chart) {
  Raster(canvas, box, chart).run();
}

}  // namespace headrace::inline v1::app
