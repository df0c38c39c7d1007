#include <headrace/apps/report/epoch_curve.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headrace::inline v1::app {
namespace {

// At each epoch over the members that have it.
std::vector<CurvePoint> mean_curve(const EpochLog& log, const std::vector<std::int64_t>& members,
                                   const std::string& column) {
  std::vector<double> sums;
  std::vector<double> counts;
  for (const std::int64_t member : members) {
    const std::vector<std::size_t> rows = log.rows_of(member);
    if (rows.size() > sums.size()) {
      sums.resize(rows.size());
      counts.resize(rows.size());
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double value = log.value(log.rows()[rows[i]], column);
      if (!std::isfinite(value)) continue;
      sums[i] += value;
      counts[i] += 1.0;
    }
  }
  ThinCurve curve;
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (counts[i] > 0.0) curve.add(static_cast<double>(i + 1), sums[i] / counts[i]);
  return curve.points();
}

}  // namespace

std::vector<CurvePoint> epoch_curve(const EpochLog& log, std::int64_t member,
                                    const std::string& column) {
  ThinCurve curve;
  const std::vector<std::size_t> rows = log.rows_of(member);
  for (std::size_t i = 0; i < rows.size(); ++i)
    curve.add(static_cast<double>(i + 1), log.value(log.rows()[rows[i]], column));
  return curve.points();
}

std::vector<SvgSeries> column_series(const EpochLog& log, const std::string& column,
                                     const std::string& name, std::size_t colour) {
  std::vector<SvgSeries> series;
  if (!log.has(column)) return series;
  const std::vector<std::int64_t> members = log.members();
  if (members.size() == 1)
    return {{.name = name, .points = epoch_curve(log, members[0], column), .colour = colour}};
  for (std::size_t i = 0; i < std::min(members.size(), most_drawn_members); ++i)
    series.push_back(
        {.points = epoch_curve(log, members[i], column), .colour = colour, .faint = true});
  series.push_back({.name = name.empty() ? "mean" : name + ", mean",
                    .points = mean_curve(log, members, column),
                    .colour = colour});
  return series;
}

std::vector<SvgSpan> stage_spans(const EpochLog& log) {
  std::vector<SvgSpan> spans;
  if (log.empty()) return spans;
  const std::vector<std::size_t> rows = log.rows_of(log.members().front());
  std::string stage;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto end = static_cast<double>(i) + 1.5;
    const std::string& now = log.rows()[rows[i]].stage;
    if (spans.empty() || now != stage) {
      stage = now;
      spans.push_back({.from = end - 1.0,
                       .to = end,
                       .colour = 6,
                       .label = now,
                       .shaded = spans.size() % 2 == 1});
    }
    spans.back().to = end;
  }
  return spans.size() < 2 ? std::vector<SvgSpan>() : spans;
}

std::string epoch_words(const EpochLog& log) {
  return stage_spans(log).empty() ? "epoch" : "epoch, all stages";
}

SvgChart figure_chart(const EpochLog& log, const std::string& figure) {
  SvgChart chart{.title = figure, .below = epoch_words(log), .spans = stage_spans(log)};
  chart.series = column_series(log, "train_" + figure, "train", 0);
  for (SvgSeries& series : column_series(log, "val_" + figure, "validation", 1))
    chart.series.push_back(std::move(series));
  return chart;
}

}  // namespace headrace::inline v1::app
