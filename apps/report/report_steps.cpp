#include <headrace/apps/figures/epoch_curve.h>
#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_cells = 400;

struct StepPart {
  const char* column;
  const char* name;
  std::size_t colour;
};
constexpr std::array<StepPart, 4> parts{{{"data_wait_s", "data wait", 1},
                                         {"copy_s", "copy", 3},
                                         {"compute_s", "compute", 0},
                                         {"other_s", "other", 6}}};

// The sum over so many rows in a row.
double sum_of(const EpochLog& log, const std::string& column, std::size_t begin, std::size_t end) {
  double sum = 0.0;
  for (std::size_t i = begin; i < end; ++i)
    if (const double value = log.value(log.rows()[i], column); std::isfinite(value)) sum += value;
  return sum;
}

// Milliseconds of a step, epochs of all members in the order in which they were done; where there
// are many, some together.
Chart budget_chart(const EpochLog& log) {
  const std::size_t rows = log.rows().size();
  const std::size_t together = (rows + most_cells - 1) / most_cells;
  Chart chart{.title = "What a step is made of",
              .unit = "ms",
              .below = log.members().size() > 1 ? "epoch, all members" : epoch_words(log)};
  if (together > 1) chart.below = fmt::format("{} epochs each", together);
  for (const StepPart& part : parts) {
    ChartBand band{.name = part.name, .colour = part.colour};
    for (std::size_t begin = 0; begin < rows; begin += together) {
      const std::size_t end = std::min(rows, begin + together);
      const double steps = sum_of(log, "steps", begin, end);
      band.heights.push_back(steps > 0.0 ? 1e3 * sum_of(log, part.column, begin, end) / steps
                                         : std::nan(""));
    }
    chart.bands.push_back(std::move(band));
  }
  return chart;
}

Chart stall_chart(const EpochLog& log) {
  Chart chart = epoch_chart(log, "Share of the time that steps waited for data", "%");
  chart.low = 0.0;
  add_column(chart, log, "data_stall_fraction", "data stall", 1, 100.0);
  return chart;
}

Chart time_chart(const EpochLog& log) {
  Chart chart = epoch_chart(log, "Time of an epoch", "s");
  chart.low = 0.0;
  add_column(chart, log, "epoch_s", "epoch", 0);
  add_column(chart, log, "validation_s", "validation in it", 1);
  return chart;
}

Chart rate_over_steps(const StepHistory& steps) {
  Chart chart = step_chart(steps, "samples_per_s", "Samples a second");
  chart.low = 0.0;
  return chart;
}

// "step 102 ms = data wait 0.0 % + ..." of all epochs.
std::string sentence(const EpochLog& log) {
  const double steps = sum_of(log, "steps", 0, log.rows().size());
  const double wall = sum_of(log, "wall_s", 0, log.rows().size());
  if (!(steps > 0.0) || !(wall > 0.0)) return {};
  std::string text =
      fmt::format("A step took {} in the mean:", monitor::format_seconds(wall / steps));
  for (const StepPart& part : parts)
    text +=
        fmt::format("{} {} {}", part.name == parts[0].name ? "" : ",", part.name,
                    monitor::format_share(sum_of(log, part.column, 0, log.rows().size()) / wall));
  return text + '.';
}

}  // namespace

std::string report_steps(const RunRecord& run, const StepHistory& steps) {
  const EpochLog& log = run.epochs;
  const std::string charts = to_html(budget_chart(log)) + to_html(stall_chart(log)) +
                             to_html(rate_over_steps(steps)) + to_html(time_chart(log));
  return section("Where the time went",
                 charts.empty() ? charts : paragraph(sentence(log)) + chart_grid(charts));
}

}  // namespace headrace::inline v1::app
