#include <headrace/apps/figures/epoch_curve.h>
#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_curves = 24;

// The last epoch of each member that was better than all before.
void mark_best(Chart& chart, const EpochLog& log, const std::string& column) {
  constexpr std::size_t most_marks = 16;
  for (const std::int64_t member : log.members()) {
    if (chart.marks.size() >= most_marks) return;
    const std::vector<std::size_t> rows = log.rows_of(member);
    for (std::size_t i = rows.size(); i-- > 0;) {
      const EpochLog::Row& row = log.rows()[rows[i]];
      if (log.value(row, "improved") != 1.0) continue;
      const double value = log.value(row, column);
      if (std::isfinite(value))
        chart.marks.push_back({.x = static_cast<double>(i + 1),
                               .y = value,
                               .title = fmt::format("member {}, epoch {}: the best so far, {:.4f}",
                                                    member, i + 1, value),
                               .colour = 1});
      break;
    }
  }
}

}  // namespace

Chart step_chart(const StepHistory& steps, const std::string& name, const std::string& title) {
  Chart chart{.title = title, .below = "step"};
  const auto found = steps.curves.find(name);
  if (found == steps.curves.end()) return chart;
  std::size_t colour = 0;
  for (const auto& [member, curve] : found->second) {
    if (curve.empty()) continue;
    ChartSeries& line = chart.series.emplace_back(series_of(curve));
    line.name = fmt::format("member {}", member);
    line.colour = colour++;
  }
  if (chart.series.size() == 1) chart.series.front().name.clear();
  return chart;
}

std::string report_curves(const RunRecord& run, const StepHistory& steps) {
  std::string charts;
  const std::vector<std::string> figures = run.epochs.figures();
  for (std::size_t i = 0; i < std::min(figures.size(), most_curves); ++i) {
    Chart chart = figure_chart(run.epochs, figures[i]);
    mark_best(chart, run.epochs, "val_" + figures[i]);
    charts += to_html(chart);
  }
  charts += to_html(step_chart(steps, "loss", "loss between the ends of epochs"));
  charts += to_html(step_chart(steps, "gradient_norm", "norm of the gradients"));
  charts += to_html(step_chart(steps, "learning_rate", "learning rate"));
  std::string html = chart_grid(charts);
  if (figures.size() > most_curves)
    html += paragraph(
        fmt::format("{} more figures are in metrics.csv", figures.size() - most_curves), "faint");
  return section("Curves", html);
}

}  // namespace headrace::inline v1::app
