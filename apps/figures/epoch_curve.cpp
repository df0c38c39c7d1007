#include <headrace/apps/figures/epoch_curve.h>
#include <headrace/apps/plot/chart_scale.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headrace::inline v1::app {
namespace {

// At each epoch 1, 2, ... the mean over those members that have it, all stages end to end.
std::vector<CurvePoint> mean_curve(const EpochLog& log, const std::vector<std::int64_t>& members,
                                   const std::string& column, double factor) {
  struct EpochMean {
    double sum = 0.0;
    double count = 0.0;
  };
  std::vector<EpochMean> means;
  for (const std::int64_t member : members) {
    const std::vector<std::size_t> rows = log.rows_of(member);
    means.resize(std::max(means.size(), rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double value = log.value(log.rows()[rows[i]], column);
      if (!std::isfinite(value)) continue;
      means[i].sum += value;
      means[i].count += 1.0;
    }
  }
  ThinCurve curve;
  for (std::size_t i = 0; i < means.size(); ++i)
    if (means[i].count > 0.0) curve.add(static_cast<double>(i + 1), means[i].sum / means[i].count);
  return scaled(curve.points(), 0.0, 1.0, factor);
}

}  // namespace

std::vector<ChartSeries> column_series(const EpochLog& log, const std::string& column,
                                       const std::string& name, std::size_t colour, double factor) {
  std::vector<ChartSeries> series;
  if (!log.has(column)) return series;
  const std::vector<std::int64_t> members = log.members();
  if (members.size() == 1)
    return {{.name = name, .points = mean_curve(log, members, column, factor), .colour = colour}};
  for (std::size_t i = 0; i < std::min(members.size(), most_drawn_members); ++i)
    series.push_back(
        {.points = mean_curve(log, {members[i]}, column, factor), .colour = colour, .faint = true});
  series.push_back({.name = name.empty() ? "mean" : name + ", mean",
                    .points = mean_curve(log, members, column, factor),
                    .colour = colour});
  return series;
}

std::vector<ChartSpan> stage_spans(const EpochLog& log) {
  std::vector<ChartSpan> spans;
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
  return spans.size() < 2 ? std::vector<ChartSpan>() : spans;
}

std::string epoch_words(const EpochLog& log) {
  return stage_spans(log).empty() ? "epoch" : "epoch, all stages";
}

Chart epoch_chart(const EpochLog& log, const std::string& title, const std::string& unit) {
  return {.title = title, .unit = unit, .below = epoch_words(log), .spans = stage_spans(log)};
}

void add_column(Chart& chart, const EpochLog& log, const std::string& column,
                const std::string& name, std::size_t colour, double factor) {
  for (ChartSeries& series : column_series(log, column, name, colour, factor))
    chart.series.push_back(std::move(series));
}

Chart figure_chart(const EpochLog& log, const std::string& figure) {
  Chart chart = epoch_chart(log, figure);
  add_column(chart, log, "train_" + figure, "train", 0);
  add_column(chart, log, "val_" + figure, "validation", 1);
  return chart;
}

}  // namespace headrace::inline v1::app
