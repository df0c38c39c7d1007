#include <headrace/apps/plot/chart_layout.h>
#include <headrace/apps/plot/markup.h>
#include <headrace/apps/plot/svg_hover.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr double width = 480.0;
constexpr double height = 220.0;
constexpr double left = 52.0;    // numbers of the heights
constexpr double right = 8.0;    // edge
constexpr double top = 8.0;      // edge
constexpr double bottom = 34.0;  // numbers and name of the axis
constexpr double strip = 5.0;    // height of one

// Pixels with one decimal, none where it is 0.
std::string pixels(double value) {
  const double tenths = std::round(value * 10.0);
  if (std::fmod(tenths, 10.0) == 0.0) return fmt::format("{:.0f}", tenths / 10.0);
  return fmt::format("{:.1f}", tenths / 10.0);
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart),
        at_(chart, {.left = left,
                    .top = top,
                    .width = width - left - right,
                    .height = height - top - bottom}) {}

  std::string html() {
    if (at_.empty()) return {};
    for (const ChartSpan& span : chart_.spans)
      ground(span);
    axes();
    layers();
    for (const ChartLimit& limit : chart_.limits)
      limit_line(limit);
    for (const ChartSeries& series : chart_.series)
      curve(series);
    for (const ChartMark& mark : chart_.marks)
      svg_ += fmt::format("<circle class=\"ring l{}\" cx=\"{}\" cy=\"{}\" r=\"4\"/>",
                          mark.colour % chart_colours, x(mark.x), y(mark.y));
    hover();
    return fmt::format(
        "<figure class=\"chart\">{}<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">"
        "<title>{}</title>{}</svg></figure>\n",
        caption(), width, height, escaped(chart_.title), svg_);
  }

 private:
  std::string x(double value) const { return pixels(at_.x(value)); }
  std::string y(double value) const { return pixels(at_.y(value)); }

  void rectangle(const std::string& classes, const ChartSpan& at, double from_top, double tall) {
    const double begin = at_.x(at.from);
    svg_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">", classes,
                        pixels(begin), pixels(from_top),
                        pixels(std::max(0.5, at_.x(at.to) - begin)), pixels(tall));
    if (!at.title.empty()) svg_ += "<title>" + escaped(at.title) + "</title>";
    svg_ += "</rect>";
  }

  void ground(const ChartSpan& span) {
    if (!at_.shows(span)) return;
    const std::string colour = fmt::format("f{}", span.colour % chart_colours);
    const double foot = height - bottom;
    if (span.strip)
      rectangle("strip " + colour, span, foot - strip, strip);
    else if (span.shaded)
      rectangle("span " + colour, span, top, foot - top);
    constexpr double letter = 6.5;
    const double begin = at_.x(span.from);
    if (!span.label.empty() &&
        at_.x(span.to) - begin > letter * static_cast<double>(span.label.size()))
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
    for (const double tick : at_.up().ticks) {
      level(tick == at_.up().low ? "axis" : "grid", tick);
      text(at_.up().label(tick), pixels(left - 5.0), at_.y(tick) + 4.0, "end");
    }
    for (const double tick : at_.along().ticks) {
      svg_ +=
          fmt::format("<path class=\"axis\" d=\"M{} {}v4\"/>", x(tick), pixels(height - bottom));
      text(at_.along().label(tick), x(tick), height - bottom + 15.0, "middle");
    }
    text(chart_.below, pixels((left + width - right) / 2.0), height - 5.0, "middle");
  }

  // Each layer is a staircase on what is below it.
  void layers() {
    std::vector<double> floor(at_.cells(), 0.0);
    for (const ChartBand& band : chart_.bands) {
      std::string there;
      std::string back;
      for (std::size_t i = 0; i < at_.cells(); ++i) {
        const double given = i < band.heights.size() ? band.heights[i] : 0.0;
        const double under = floor[i];
        floor[i] += std::isfinite(given) ? std::max(0.0, given) : 0.0;
        const auto middle = static_cast<double>(i + 1);
        const std::string from = x(middle - 0.5);
        const std::string to = x(middle + 0.5);
        there += fmt::format("{}{} {}H{}", i == 0 ? 'M' : 'L', from, y(floor[i]), to);
        back.insert(0, fmt::format("L{} {}H{}", to, y(under), from));
      }
      svg_ += fmt::format("<path class=\"layer f{}\" d=\"{}{}Z\"/>", band.colour % chart_colours,
                          there, back);
    }
  }

  void limit_line(const ChartLimit& limit) {
    level("limit", limit.y);
    text(limit.name, pixels(width - right - 2.0),
         at_.y(limit.y) + (at_.y(limit.y) < 24 ? 12.0 : -4.0), "end");
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

  void curve(const ChartSeries& series) {
    const std::size_t colour = series.colour % chart_colours;
    const std::string stroke = fmt::format("line l{}", colour);
    if (!series.means.empty()) {
      line(stroke + " ground", series.points);
      line(stroke, series.means);
      return;
    }
    line(stroke + (series.faint ? " pale" : ""), series.points);
    if (series.points.size() > most_shown_points || series.faint) return;
    for (const CurvePoint& point : series.points)
      if (std::isfinite(point.y))
        svg_ += fmt::format("<circle class=\"f{}\" cx=\"{}\" cy=\"{}\" r=\"2.2\"/>", colour,
                            x(point.x), y(point.y));
  }

  void hover() {
    for (const ChartSpan& note : hover_notes(chart_))
      rectangle("at", note, top, height - top - bottom);
    for (const ChartMark& mark : chart_.marks) {
      if (mark.title.empty()) continue;
      svg_ +=
          fmt::format("<circle class=\"at\" cx=\"{}\" cy=\"{}\" r=\"6\"><title>{}</title></circle>",
                      x(mark.x), y(mark.y), escaped(mark.title));
    }
  }

  void add_key(std::string& caption, const std::string& name, std::size_t colour) const {
    if (name.empty()) return;
    caption += fmt::format("<span class=\"key\" style=\"--k:var(--c{})\">{}</span>",
                           colour % chart_colours, escaped(name));
  }

  std::string caption() const {
    const std::string unit = chart_.unit.empty() ? std::string() : ", " + chart_.unit;
    std::string keys;
    for (const ChartSeries& series : chart_.series)
      add_key(keys, series.name, series.colour);
    for (const ChartBand& band : chart_.bands)
      add_key(keys, band.name, band.colour);
    return fmt::format("<figcaption><b>{}</b>{}</figcaption>", escaped(chart_.title + unit), keys);
  }

  const Chart& chart_;
  ChartLayout at_;
  std::string svg_;
};

}  // namespace

std::string to_html(const Chart& chart) {
  return Drawing(chart).html();
}

}  // namespace headrace::inline v1::app
