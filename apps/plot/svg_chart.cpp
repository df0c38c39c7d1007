#include <headrace/apps/plot/axis.h>
#include <headrace/apps/plot/markup.h>
#include <headrace/apps/plot/svg_chart.h>
#include <headrace/apps/plot/svg_hover.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr double width = 480.0;
constexpr double height = 220.0;
constexpr double left = 52.0;             // numbers of the heights
constexpr double right = 8.0;             // edge
constexpr double top = 8.0;               // edge
constexpr double bottom = 34.0;           // numbers and name of the axis
constexpr double strip = 5.0;             // height of one
constexpr std::size_t most_circles = 40;  // points that are shown as such

// Pixels with one decimal, none where it is 0.
std::string pixels(double value) {
  const double tenths = std::round(value * 10.0);
  if (std::fmod(tenths, 10.0) == 0.0) return fmt::format("{:.0f}", tenths / 10.0);
  return fmt::format("{:.1f}", tenths / 10.0);
}

class Drawing {
 public:
  explicit Drawing(const SvgChart& chart) : chart_(chart), cells_(cells_of(chart)) { measure(); }

  std::string html() {
    for (const SvgSpan& span : chart_.spans)
      ground(span);
    axes();
    layers();
    for (const SvgLimit& limit : chart_.limits)
      limit_line(limit);
    for (const SvgSeries& series : chart_.series)
      curve(series);
    for (const SvgMark& mark : chart_.marks)
      svg_ += fmt::format("<circle class=\"ring l{}\" cx=\"{}\" cy=\"{}\" r=\"4\"/>",
                          mark.colour % svg_colours, x(mark.x), y(mark.y));
    hover();
    return fmt::format(
        "<figure class=\"chart\">{}<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">"
        "<title>{}</title>{}</svg></figure>\n",
        caption(), width, height, escaped(chart_.title), svg_);
  }

 private:
  static std::size_t cells_of(const SvgChart& chart) {
    std::size_t cells = 0;
    for (const SvgBand& band : chart.bands)
      cells = std::max(cells, band.heights.size());
    return cells;
  }

  double stacked(std::size_t cell) const {
    double sum = 0.0;
    for (const SvgBand& band : chart_.bands)
      if (cell < band.heights.size() && std::isfinite(band.heights[cell]))
        sum += std::max(0.0, band.heights[cell]);
    return sum;
  }

  void measure() {
    double low = chart_.low.value_or(HUGE_VAL);
    double high = chart_.high.value_or(-HUGE_VAL);
    first_ = chart_.from.value_or(HUGE_VAL);
    last_ = chart_.to.value_or(-HUGE_VAL);
    for (const SvgSeries& series : chart_.series) {
      for (const CurvePoint& point : series.points) {
        if (!std::isfinite(point.y)) continue;
        low = std::min(low, point.y);
        high = std::max(high, point.y);
        first_ = std::min(first_, point.x);
        last_ = std::max(last_, point.x);
      }
    }
    for (std::size_t i = 0; i < cells_; ++i)
      high = std::max(high, stacked(i));
    if (cells_ > 0) {
      low = std::min(low, 0.0);
      first_ = 0.5;
      last_ = static_cast<double>(cells_) + 0.5;
    }
    for (const SvgLimit& limit : chart_.limits)
      high = std::max(high, limit.y);
    constexpr double furthest = 1e300;
    first_ = std::clamp(first_, -furthest, furthest);
    last_ = std::clamp(last_, -furthest, furthest);
    if (!(last_ > first_)) {  // a single place in the middle
      const double room = std::max(0.5, 1e-9 * std::abs(first_));
      first_ -= room;
      last_ += room;
    }
    up_ = round_axis(low, high, 6);
    along_ = round_axis(first_, last_, 8);
    if (counts()) {
      std::erase_if(along_.ticks, [](double tick) { return tick != std::round(tick); });
      along_.decimals = 0;
    }
  }

  // Whether all places are whole numbers, of epochs or steps.
  bool counts() const {
    return std::all_of(chart_.series.begin(), chart_.series.end(), [](const SvgSeries& series) {
      return std::all_of(series.points.begin(), series.points.end(),
                         [](const CurvePoint& point) { return point.x == std::round(point.x); });
    });
  }

  double at_x(double value) const {
    const double share = (value - first_) / (last_ - first_);
    return left + (share > 0.0 ? std::min(share, 1.0) : 0.0) * (width - left - right);
  }
  double at_y(double value) const {
    return height - bottom - std::clamp(up_.place(value), 0.0, 1.0) * (height - top - bottom);
  }
  std::string x(double value) const { return pixels(at_x(value)); }
  std::string y(double value) const { return pixels(at_y(value)); }

  void rectangle(const std::string& classes, const SvgSpan& at, double from_top, double tall) {
    const double begin = at_x(at.from);
    svg_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">", classes,
                        pixels(begin), pixels(from_top), pixels(std::max(0.5, at_x(at.to) - begin)),
                        pixels(tall));
    if (!at.title.empty()) svg_ += "<title>" + escaped(at.title) + "</title>";
    svg_ += "</rect>";
  }

  void ground(const SvgSpan& span) {
    if (span.to < first_ || span.from > last_) return;
    const std::string colour = fmt::format("f{}", span.colour % svg_colours);
    const double foot = height - bottom;
    if (span.strip)
      rectangle("strip " + colour, span, foot - strip, strip);
    else if (span.shaded)
      rectangle("span " + colour, span, top, foot - top);
    constexpr double letter = 6.5;
    const double begin = at_x(span.from);
    if (!span.label.empty() &&
        at_x(span.to) - begin > letter * static_cast<double>(span.label.size()))
      text(span.label, pixels(begin + 3.0), top + 12.0, "start");
  }

  void text(const std::string& text, const std::string& at_x, double at_y, const char* anchor) {
    svg_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>", at_x, pixels(at_y),
                        anchor, escaped(text));
  }

  void level(const char* classes, double value) {
    svg_ += fmt::format("<path class=\"{}\" d=\"M{} {}H{}\"/>", classes, pixels(left), y(value),
                        pixels(width - right));
  }

  void axes() {
    for (const double tick : up_.ticks) {
      level(tick == up_.low ? "axis" : "grid", tick);
      text(up_.label(tick), pixels(left - 5.0), at_y(tick) + 4.0, "end");
    }
    for (const double tick : along_.ticks) {
      if (tick < first_ - 1e-9 || tick > last_ + 1e-9) continue;
      if (cells_ > 0 && tick < 1.0) continue;
      svg_ +=
          fmt::format("<path class=\"axis\" d=\"M{} {}v4\"/>", x(tick), pixels(height - bottom));
      text(along_.label(tick), x(tick), height - bottom + 15.0, "middle");
    }
    text(chart_.below, pixels((left + width - right) / 2.0), height - 5.0, "middle");
  }

  // Each layer is a staircase on what is below it.
  void layers() {
    std::vector<double> floor(cells_, 0.0);
    for (const SvgBand& band : chart_.bands) {
      std::string there;
      std::string back;
      for (std::size_t i = 0; i < cells_; ++i) {
        const double given = i < band.heights.size() ? band.heights[i] : 0.0;
        const double under = floor[i];
        floor[i] += std::isfinite(given) ? std::max(0.0, given) : 0.0;
        const auto middle = static_cast<double>(i + 1);
        const std::string from = x(middle - 0.5);
        const std::string to = x(middle + 0.5);
        there += fmt::format("{}{} {}H{}", i == 0 ? 'M' : 'L', from, y(floor[i]), to);
        back.insert(0, fmt::format("L{} {}H{}", to, y(under), from));
      }
      svg_ += fmt::format("<path class=\"layer f{}\" d=\"{}{}Z\"/>", band.colour % svg_colours,
                          there, back);
    }
  }

  void limit_line(const SvgLimit& limit) {
    level("limit", limit.y);
    text(limit.name, pixels(width - right - 2.0),
         at_y(limit.y) + (at_y(limit.y) < 24 ? 12.0 : -4.0), "end");
  }

  void line(const std::string& classes, const std::vector<CurvePoint>& points) {
    std::string path;
    bool joined = false;
    for (const CurvePoint& point : points) {
      if (!std::isfinite(point.y)) {
        joined = false;
        continue;
      }
      path += fmt::format("{}{} {}", joined ? 'L' : 'M', x(point.x), y(point.y));
      if (!joined) path += "h0";  // a point alone is seen, too
      joined = true;
    }
    if (!path.empty()) svg_ += fmt::format("<path class=\"{}\" d=\"{}\"/>", classes, path);
  }

  void curve(const SvgSeries& series) {
    const std::size_t colour = series.colour % svg_colours;
    const std::string stroke = fmt::format("line l{}", colour);
    if (!series.means.empty()) {
      line(stroke + " ground", series.points);
      line(stroke, series.means);
      return;
    }
    line(stroke + (series.faint ? " pale" : ""), series.points);
    if (series.points.size() > most_circles || series.faint) return;
    for (const CurvePoint& point : series.points)
      if (std::isfinite(point.y))
        svg_ += fmt::format("<circle class=\"f{}\" cx=\"{}\" cy=\"{}\" r=\"2.2\"/>", colour,
                            x(point.x), y(point.y));
  }

  void hover() {
    for (const SvgSpan& note : hover_notes(chart_))
      rectangle("at", note, top, height - top - bottom);
    for (const SvgMark& mark : chart_.marks) {
      if (mark.title.empty()) continue;
      svg_ +=
          fmt::format("<circle class=\"at\" cx=\"{}\" cy=\"{}\" r=\"6\"><title>{}</title></circle>",
                      x(mark.x), y(mark.y), escaped(mark.title));
    }
  }

  void add_key(std::string& caption, const std::string& name, std::size_t colour) const {
    if (name.empty()) return;
    caption += fmt::format("<span class=\"key\" style=\"--k:var(--c{})\">{}</span>",
                           colour % svg_colours, escaped(name));
  }

  std::string caption() const {
    const std::string unit = chart_.unit.empty() ? std::string() : ", " + chart_.unit;
    std::string keys;
    for (const SvgSeries& series : chart_.series)
      add_key(keys, series.name, series.colour);
    for (const SvgBand& band : chart_.bands)
      add_key(keys, band.name, band.colour);
    return fmt::format("<figcaption><b>{}</b>{}</figcaption>", escaped(chart_.title + unit), keys);
  }

  const SvgChart& chart_;
  std::size_t cells_;
  double first_ = 0.0;
  double last_ = 1.0;
  Axis up_;
  Axis along_;
  std::string svg_;
};

}  // namespace

bool has_values(const SvgChart& chart) {
  const auto finite = [](double value) { return std::isfinite(value); };
  return std::any_of(chart.series.begin(), chart.series.end(),
                     [&](const SvgSeries& series) {
                       return std::any_of(series.points.begin(), series.points.end(),
                                          [&](const CurvePoint& point) { return finite(point.y); });
                     }) ||
         std::any_of(chart.bands.begin(), chart.bands.end(), [&](const SvgBand& band) {
           return std::any_of(band.heights.begin(), band.heights.end(), finite);
         });
}

std::string to_html(const SvgChart& chart) {
  return has_values(chart) ? Drawing(chart).html() : std::string();
}

}  // namespace headrace::inline v1::app
