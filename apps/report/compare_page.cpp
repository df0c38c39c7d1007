#include <headrace/apps/figures/epoch_curve.h>
#include <headrace/apps/plot/chart_scale.h>
#include <headrace/apps/plot/markup.h>
#include <headrace/apps/report/compare_runs.h>
#include <headrace/apps/report/page.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_charts = 24;

std::string runs_html(const Comparison& comparison) {
  PageTable table{.headings = {"", "run", "kind", "ended", "epochs"}, .text_columns = 4};
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const RunRecord& run = comparison.runs[i].record;
    table.rows.push_back({letter_of(i), run.folder.string(), run.kind, to_string(run.end),
                          std::to_string(run.epochs.rows().size())});
  }
  std::string html = to_html(table);
  for (const std::string& sentence : comparison.sentences)
    html += paragraph(sentence);
  return html;
}

std::string keys_html(const std::vector<KeyDifference>& keys) {
  if (keys.empty()) return {};
  PageTable table{.headings = {"key"}, .text_columns = 1 + keys.front().values.size()};
  for (std::size_t i = 0; i < keys.front().values.size(); ++i)
    table.headings.push_back(letter_of(i));
  for (const KeyDifference& key : keys) {
    std::vector<std::string> cells{key.key};
    cells.insert(cells.end(), key.values.begin(), key.values.end());
    table.rows.push_back(std::move(cells));
  }
  return to_html(table);
}

std::string figure_cell(FigureKind kind, const Spread& spread) {
  if (spread.count == 0) return {};
  if (spread.count == 1) return figure_value(kind, spread.mean);
  return fmt::format("{} ±\u00a0{} (n\u00a0{})", figure_value(kind, spread.mean),
                     figure_value(kind, spread.deviation), spread.count);
}

std::string figures_html(const Comparison& comparison) {
  PageTable table{.headings = {"figure"}, .text_columns = 1, .wraps = true};
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    table.headings.push_back(letter_of(i));
    if (i > 0) table.headings.push_back(letter_of(i) + " to " + letter_of(0));
  }
  for (const ComparedFigure& figure : comparison.figures) {
    std::vector<std::string> cells{figure.name};
    for (std::size_t i = 0; i < figure.runs.size(); ++i) {
      cells.push_back(figure_cell(figure.kind, figure.runs[i]));
      if (i == 0) continue;
      const FigureDifference& said = figure.differences[i - 1];
      if (said.finding == DifferenceKind::differs && figure.runs.size() == 2)
        table.marked.push_back(table.rows.size());
      const bool more = said.finding == DifferenceKind::within_noise ||
                        (said.finding == DifferenceKind::noise_unknown && !said.amount.empty());
      cells.push_back(more ? said.words + " (" + said.amount + ')' : said.words);
    }
    table.rows.push_back(std::move(cells));
  }
  return to_html(table) + paragraph(noise_sentence(), "faint");
}

// The mean over members of a column, a line a run; faintly what is learnt beside it.
void add_runs(Chart& chart, const Comparison& comparison, const std::string& column,
              const std::string& behind, bool faint) {
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    std::vector<ChartSeries> series =
        column_series(comparison.runs[i].record.epochs, column, "mean", i % chart_colours);
    if (series.empty()) continue;
    ChartSeries& line = series.back();
    line.name = letter_of(i) + behind;
    line.faint = faint;
    chart.series.push_back(std::move(line));
  }
}

std::vector<std::string> figure_names(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const ComparedRun& run : comparison.runs)
    for (const std::string& name : run.record.epochs.figures())
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  names.resize(std::min(names.size(), most_charts));
  return names;
}

Chart scaled_chart(const Comparison& comparison, const std::string& title,
                   const std::string& column) {
  Chart chart{.title = title, .below = "epoch", .low = 0.0};
  add_runs(chart, comparison, column, "", false);
  double most = 0.0;
  for (const ChartSeries& series : chart.series)
    for (const CurvePoint& point : series.points)
      most = std::max(most, point.y);
  const ByteScale scale = column.ends_with("_bytes") ? byte_scale(most) : ByteScale{1.0, "s"};
  chart.unit = scale.unit;
  for (ChartSeries& series : chart.series)
    series.points = scaled(series.points, 0.0, 1.0, scale.factor);
  return chart;
}

Chart rate_chart(const Comparison& comparison) {
  Chart chart{.title = "Samples a second", .below = "step", .low = 0.0};
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const auto& curves = comparison.runs[i].steps.curves;
    const auto found = curves.find("samples_per_s");
    if (found == curves.end() || found->second.empty()) continue;
    ChartSeries& line = chart.series.emplace_back(series_of(found->second.begin()->second));
    line.name = letter_of(i);
    line.colour = i % chart_colours;
  }
  return chart;
}

std::string charts_html(const Comparison& comparison) {
  std::string charts;
  for (const std::string& name : figure_names(comparison)) {
    Chart chart{.title = name, .below = "epoch"};
    add_runs(chart, comparison, "train_" + name, " train (faint)", true);
    add_runs(chart, comparison, "val_" + name, " validation", false);
    charts += to_html(chart);
  }
  charts += to_html(rate_chart(comparison));
  charts += to_html(scaled_chart(comparison, "Time of an epoch", "epoch_s"));
  charts += to_html(scaled_chart(comparison, "Waited for data in an epoch", "data_wait_s"));
  charts += to_html(scaled_chart(comparison, "Memory held, most", "peak_memory_bytes"));
  return chart_grid(charts);
}

}  // namespace

std::string to_page(const Comparison& comparison) {
  std::string title;
  for (const ComparedRun& run : comparison.runs)
    title += (title.empty() ? "" : " and ") + run.record.name;
  return whole_page(title, "<h1>" + escaped(title) + "</h1>\n" + runs_html(comparison) +
                               section("Configuration", keys_html(comparison.configuration)) +
                               section("Machine and versions", keys_html(comparison.environment)) +
                               section("Figures", figures_html(comparison)) +
                               section("Curves", charts_html(comparison)));
}

}  // namespace headrace::inline v1::app
