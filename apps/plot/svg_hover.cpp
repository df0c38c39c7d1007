#include <headrace/apps/plot/svg_hover.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_notes = 60;
constexpr std::size_t most_names = 12;  // in one note

std::vector<double> places_of(const Chart& chart) {
  std::vector<double> places;
  for (const ChartSeries& series : chart.series)
    for (const CurvePoint& point : series.points)
      if (std::isfinite(point.y)) places.push_back(point.x);
  for (const ChartBand& band : chart.bands)
    for (std::size_t i = 0; i < band.heights.size(); ++i)
      places.push_back(static_cast<double>(i + 1));
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

// A part of the axis and how it is called.
struct Part {
  double from = 0.0;
  double to = 0.0;
  std::string called{};
};

// Half way to the neighbours.
std::vector<Part> around(const std::vector<double>& places) {
  std::vector<Part> parts(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double before = i > 0 ? places[i - 1] : places[i] - 1.0;
    const double behind = i + 1 < places.size() ? places[i + 1] : places[i] + 1.0;
    parts[i].from = (before + places[i]) / 2.0;
    parts[i].to = (places[i] + behind) / 2.0;
    parts[i].called = fmt::format("{:.4g}", places[i]);
  }
  return parts;
}

std::vector<Part> even_parts(double from, double to) {
  std::vector<Part> parts(most_notes);
  const double step = (to - from) / static_cast<double>(most_notes);
  for (std::size_t i = 0; i < most_notes; ++i) {
    parts[i].from = from + step * static_cast<double>(i);
    parts[i].to = parts[i].from + step;
    parts[i].called = fmt::format("{:.4g} to {:.4g}", parts[i].from, parts[i].to);
  }
  parts.back().to = std::nextafter(to, HUGE_VAL);
  return parts;
}

struct Range {
  double low = HUGE_VAL;
  double high = -HUGE_VAL;

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

void say(std::string& text, const std::string& name, const Range& range) {
  if (range.low > range.high) return;
  text += text.empty() ? "" : ", ";
  if (!name.empty()) text += name + ' ';
  text += range.low == range.high ? fmt::format("{:.4g}", range.low)
                                  : fmt::format("{:.4g} to {:.4g}", range.low, range.high);
}

std::string text_at(const Chart& chart, const Part& part) {
  std::string text;
  std::size_t named = 0;
  for (const ChartSeries& series : chart.series) {
    if (series.name.empty() && chart.series.size() > 1) continue;  // a member's beside the mean
    if (++named > most_names) break;
    Range range;
    for (const CurvePoint& point : series.points)
      if (point.x >= part.from && point.x < part.to) range.add(point.y);
    say(text, series.name, range);
  }
  for (const ChartBand& band : chart.bands) {
    Range range;
    for (std::size_t i = 0; i < band.heights.size(); ++i)
      if (const auto place = static_cast<double>(i + 1); place >= part.from && place < part.to)
        range.add(band.heights[i]);
    say(text, band.name, range);
  }
  return text;
}

}  // namespace

std::vector<ChartSpan> hover_notes(const Chart& chart) {
  const std::vector<double> places = places_of(chart);
  if (places.empty()) return {};
  std::vector<ChartSpan> notes;
  for (const Part& part :
       places.size() <= most_notes ? around(places) : even_parts(places.front(), places.back())) {
    const std::string text = text_at(chart, part);
    if (text.empty()) continue;
    ChartSpan& note = notes.emplace_back();
    note.from = part.from;
    note.to = part.to;
    note.title = fmt::format("{} {}: {}", chart.below, part.called, text);
  }
  return notes;
}

}  // namespace headrace::inline v1::app
