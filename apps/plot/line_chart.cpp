#include <headrace/apps/plot/axis.h>
#include <headrace/apps/plot/line_chart.h>
#include <headrace/apps/plot/look.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace headrace::inline v1::app {
namespace {

constexpr double axis_height = 44.0;  // numbers and name of the axis below
constexpr double margin = 76.0;       // numbers of the axis at the left
constexpr double edge = 18.0;         // at the right
constexpr double legend_gap = 20.0;
constexpr std::size_t most_discs = 40;  // points that are shown as such

class LinePlot {
 public:
  LinePlot(Canvas& canvas, const Box& box, const LineChart& chart)
      : canvas_(canvas),
        box_{.left = box.left + margin,
             .top = box.top + look::title_height,
             .width = box.width - margin - edge,
             .height = box.height - look::title_height - axis_height},
        chart_(chart) {}

  void run() {
    if (!measure()) return;
    for (const Band& band : chart_.bands)
      shade(band);
    axes();
    title();
    for (const Series& series : chart_.series)
      curve(series);
    if (chart_.mark) ring(spot(chart_.mark->at, chart_.mark->value), chart_.mark->colour);
  }

 private:
  // Whether there is anything to draw.
  bool measure() {
    double low = HUGE_VAL;
    double high = -HUGE_VAL;
    for (const Series& series : chart_.series) {
      for (const double value : series.values) {
        if (!std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
      }
      length_ = std::max(length_, series.values.size());
    }
    if (low > high) return false;
    if (chart_.range) {
      low = std::min(low, chart_.range->low);
      high = std::max(high, chart_.range->high);
    }
    up_ = round_axis(low, high, std::max(3, static_cast<int>(box_.height / 44.0)));
    along_ = counting_axis(1, static_cast<int>(length_),
                           std::max(3, static_cast<int>(box_.width / 70.0)));
    return true;
  }

  Spot spot(double at, double value) const {
    return {box_.left + box_.width * along_.place(at),
            box_.bottom() - box_.height * up_.place(value)};
  }

  void shade(const Band& band) {
    const double left = spot(std::max(band.from, along_.low), up_.low).x;
    const double right = spot(std::min(band.to, along_.high), up_.low).x;
    if (right > left)
      canvas_.rectangle(
          {.left = left, .top = box_.top, .width = right - left, .height = box_.height},
          band.colour);
  }

  void axes() {
    for (const double tick : up_.ticks) {
      const double y = spot(1.0, tick).y;
      const std::array ends{Spot{box_.left, y}, Spot{box_.right(), y}};
      canvas_.line(ends, tick == up_.low ? look::axis : look::grid, 1.0);
      canvas_.text(up_.label(tick), {box_.left - 9.0, y},
                   {.colour = look::faint, .anchor = Anchor::right});
    }
    for (const double tick : along_.ticks) {
      const double x = spot(tick, up_.low).x;
      const std::array ends{Spot{x, box_.bottom()}, Spot{x, box_.bottom() + 5.0}};
      canvas_.line(ends, look::axis, 1.0);
      canvas_.text(along_.label(tick), {x, box_.bottom() + 17.0},
                   {.colour = look::faint, .anchor = Anchor::middle});
    }
    canvas_.text(chart_.below, {box_.left + box_.width / 2.0, box_.bottom() + 36.0},
                 {.colour = look::faint, .anchor = Anchor::middle});
  }

  // The legend from the right, and the title, which has the room that is left.
  void title() {
    const double y = box_.top - 22.0;
    double x = box_.right();
    if (chart_.mark) {
      x = legend_text(chart_.mark->text, {x, y});
      ring({x - 6.5, y}, chart_.mark->colour);
      x -= 13.0 + legend_gap;
    }
    for (auto series = chart_.series.rbegin(); series != chart_.series.rend(); ++series) {
      if (series->name.empty()) continue;
      x = legend_text(series->name, {x, y});
      const std::array ends{Spot{x - 24.0, y}, Spot{x, y}};
      canvas_.line(ends, series->colour, series->thickness);
      x -= 24.0 + legend_gap;
    }
    canvas_.text(cut_to_width(chart_.title, x - box_.left, look::title), {box_.left, y},
                 look::title);
  }

  // Ends at the spot; gives where its sign does.
  double legend_text(const std::string& text, Spot spot) {
    canvas_.text(text, spot, {.colour = look::ink, .anchor = Anchor::right});
    return spot.x - Canvas::text_width(text, {}) - 8.0;
  }

  void curve(const Series& series) {
    std::vector<Spot> piece;
    for (std::size_t i = 0; i <= series.values.size(); ++i) {
      if (i < series.values.size() && std::isfinite(series.values[i])) {
        piece.push_back(spot(static_cast<double>(i + 1), series.values[i]));
        continue;
      }
      canvas_.line(piece, series.colour, series.thickness);
      if (length_ <= most_discs || piece.size() == 1)
        for (const Spot& point : piece)
          canvas_.disc(point, 1.4 * series.thickness, series.colour);
      piece.clear();
    }
  }

  void ring(Spot at, Colour colour) {
    canvas_.disc(at, 6.5, colour);
    canvas_.disc(at, 4.0, look::paper);
  }

  Canvas& canvas_;
  Box box_;  // of the lines alone
  const LineChart& chart_;
  std::size_t length_ = 0;
  Axis up_;
  Axis along_;
};

}  // namespace

void draw(Canvas& canvas, const Box& box, const LineChart& chart) {
  LinePlot(canvas, box, chart).run();
}

}  // namespace headrace::inline v1::app
