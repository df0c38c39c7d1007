#include <headrace/apps/plot/line_chart.h>
#include <headrace/apps/plot/look.h>
#include <headrace/apps/plot/text_table.h>
#include <headrace/apps/train/figure_text.h>
#include <headrace/apps/train/metric_curves.h>
#include <headrace/apps/train/results.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr int plot_width = 1200;
constexpr int charts_height = 800;
constexpr double plot_edge = 20.0;  // beside the pictures

// Members faintly, their mean or the only one boldly, behind those that are there already.
void add_curves(LineChart& chart, const CsvTable& metrics, const std::string& column,
                const std::string& name, Colour colour) {
  std::vector<std::vector<double>> curves = metric_curves(metrics, column);
  if (curves.empty()) return;
  const bool several = curves.size() > 1;
  const Series bold{.values = mean_curve(curves),
                    .colour = colour,
                    .name = several ? name + ", mean" : name,
                    .thickness = 2.2};
  if (several)
    for (std::vector<double>& curve : curves)
      chart.series.insert(chart.series.begin(),
                          {.values = std::move(curve), .colour = colour.paler(0.65)});
  chart.series.push_back(bold);
}

LineChart chart_of(const CsvTable& metrics, const std::string& figure) {
  LineChart chart{.title = figure_words(figure), .below = "epoch"};
  add_curves(chart, metrics, "train_" + figure, "train", look::blue);
  add_curves(chart, metrics, "val_" + figure, "validation", look::orange);
  return chart;
}

// Of a single member the epoch whose weights were kept.
void mark_best(LineChart& chart, const CsvTable& metrics,
               const std::vector<FoldOutcome>& outcomes) {
  const FoldOutcome& one = outcomes.front();
  const auto found = one.validation.find(one.selected_by);
  if (outcomes.size() > 1 || found == one.validation.end()) return;
  const auto curves = metric_curves(metrics, "val_" + one.selected_by);
  if (curves.size() != 1) return;
  // Stages count their epochs anew: the place is that of the value.
  const auto& values = curves.front();
  const auto at = std::find_if(values.begin(), values.end(), [&](double value) {
    return std::abs(value - found->second) <= 1e-9 * std::max(1.0, std::abs(value));
  });
  if (at == values.end()) return;
  const auto epoch = static_cast<int>(at - values.begin()) + 1;
  chart.mark = Mark{
      .at = epoch, .value = *at, .text = fmt::format("kept {:.4f}", *at), .colour = look::orange};
}

using Named = std::map<std::string, double>;

std::string shown(const Named& figures, const std::string& name) {
  const auto found = figures.find(name);
  return found == figures.end() ? "" : figure_text(found->second);
}

// Of each figure the mean of those members that have it.
Named mean_of(const std::vector<FoldOutcome>& outcomes, Named FoldOutcome::*split) {
  std::map<std::string, std::vector<double>> values;
  for (const FoldOutcome& outcome : outcomes)
    for (const auto& [name, value] : outcome.*split)
      values[name].push_back(value);
  Named means;
  for (const auto& [name, all] : values)
    means[name] = std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  return means;
}

TextTable figures_of(const std::vector<FoldOutcome>& outcomes,
                     const std::vector<FoldOutcome>& votes) {
  TextTable table{.title = outcomes.size() > 1 ? "mean over members" : "kept weights",
                  .head = {"", "validation", "test"}};
  if (!votes.empty()) table.head.emplace_back("vote, test");
  const Named validation = mean_of(outcomes, &FoldOutcome::validation);
  const Named test = mean_of(outcomes, &FoldOutcome::test);
  Named all = validation;
  all.insert(test.begin(), test.end());
  if (!votes.empty()) all.insert(votes.front().test.begin(), votes.front().test.end());
  for (const auto& [name, value] : all) {
    table.rows.push_back({figure_words(name), shown(validation, name), shown(test, name)});
    if (!votes.empty()) table.rows.back().push_back(shown(votes.front().test, name));
  }
  return table;
}

void draw_charts(Canvas& canvas, const CsvTable& metrics, const std::vector<FoldOutcome>& outcomes,
                 const std::vector<FoldOutcome>& votes) {
  const MatrixChart matrix = confusion_of_test(outcomes, votes);
  const double left = matrix.counts.empty() ? plot_width : 0.55 * plot_width;
  const double half = (charts_height - 16.0) / 2.0;
  const double gap = 8.0;  // between the charts
  const std::string& figure = outcomes.front().selected_by;
  LineChart loss = chart_of(metrics, "loss");
  LineChart second = chart_of(metrics, figure);
  if (figure == "loss") {
    second = {.title = "learning rate", .below = "epoch"};
    add_curves(second, metrics, "learning_rate", "", look::blue);
  }
  mark_best(figure == "loss" ? loss : second, metrics, outcomes);
  draw(canvas, {.left = 8.0, .top = 8.0, .width = left - 8.0, .height = half - gap}, loss);
  draw(canvas, {.left = 8.0, .top = 8.0 + half + gap, .width = left - 8.0, .height = half - gap},
       second);
  if (matrix.counts.empty()) return;
  const double end = draw(
      canvas,
      {.left = left + 34.0, .top = 8.0, .width = plot_width - left - 42.0, .height = 2.0 * half},
      matrix);
  draw(canvas,
       {.left = left + 34.0,
        .top = end + 16.0,
        .width = plot_width - left - 60.0,
        .height = charts_height - end - 24.0},
       figures_of(outcomes, votes));
}

bool same_classes(const Confusion& a, const Confusion& b) {
  return a.counts.size() == b.counts.size() && a.classes == b.classes;
}

}  // namespace

MatrixChart confusion_of_test(const std::vector<FoldOutcome>& outcomes,
                              const std::vector<FoldOutcome>& votes) {
  const Confusion vote = votes.empty() ? Confusion{} : votes.front().confusion;
  const MatrixChart voted{
      .title = "confusion matrix, test, vote", .counts = vote.counts, .names = vote.classes};
  const Confusion* first = vote.counts.empty() ? nullptr : &vote;
  MatrixChart chart{.title = outcomes.size() > 1 ? "confusion matrix, test, all members"
                                                 : "confusion matrix, test"};
  for (const FoldOutcome& outcome : outcomes) {
    if (outcome.confusion.counts.empty()) continue;
    if (first == nullptr) first = &outcome.confusion;
    if (!same_classes(outcome.confusion, *first)) return voted;
    chart.names = first->classes;
    if (chart.counts.empty()) {
      chart.counts = outcome.confusion.counts;
      continue;
    }
    for (std::size_t row = 0; row < chart.counts.size(); ++row)
      for (std::size_t column = 0; column < chart.counts.size(); ++column)
        chart.counts[row][column] += outcome.confusion.counts[row][column];
  }
  return chart.counts.empty() ? voted : chart;
}

std::vector<std::byte> results_png(const CsvTable& metrics,
                                   const std::vector<FoldOutcome>& outcomes,
                                   const TestReview& review) {
  const PictureGrid pictures = strip_of(review.gallery);
  const double strip =
      pictures.cells.empty() ? 0.0 : height_of(pictures, plot_width - 2.0 * plot_edge);
  Canvas canvas(plot_width, charts_height + static_cast<int>(std::ceil(strip)));
  if (strip > 0.0)
    draw(canvas,
         {.left = plot_edge,
          .top = charts_height,
          .width = plot_width - 2.0 * plot_edge,
          .height = strip},
         pictures);
  draw_charts(canvas, metrics, outcomes, review.votes);
  return canvas.png();
}

}  // namespace headrace::inline v1::app
