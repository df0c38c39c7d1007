#include <headrace/apps/figures/epoch_curve.h>
#include <headrace/apps/figures/figure_text.h>
#include <headrace/apps/figures/results.h>
#include <headrace/apps/plot/look.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr int plot_width = 1200;
constexpr int charts_height = 800;
constexpr double plot_edge = 20.0;  // beside the pictures

// Of a single member the epoch whose weights were kept.
void mark_kept(Chart& chart, const EpochLog& log, const std::vector<FoldOutcome>& outcomes) {
  const FoldOutcome& one = outcomes.front();
  const auto found = one.validation.find(one.selected_by);
  const std::vector<std::int64_t> members = log.members();
  if (outcomes.size() > 1 || found == one.validation.end() || members.size() != 1) return;
  // Stages count their epochs anew: the place is that of the value.
  const std::vector<std::size_t> rows = log.rows_of(members.front());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double value = log.value(log.rows()[rows[i]], "val_" + one.selected_by);
    if (!(std::abs(value - found->second) <= 1e-9 * std::max(1.0, std::abs(value)))) continue;
    chart.marks.push_back({.x = static_cast<double>(i + 1),
                           .y = value,
                           .title = fmt::format("kept {:.4f}", value),
                           .colour = 1});
    return;
  }
}

// The loss and what selects, or beside a loss that does the learning rate.
std::array<Chart, 2> curves_of(const EpochLog& log, const std::vector<FoldOutcome>& outcomes) {
  const std::string& figure = outcomes.front().selected_by;
  std::array charts{figure_chart(log, "loss"), figure_chart(log, figure)};
  charts[1].title = figure_words(figure);
  if (figure == "loss") {
    charts[1].title = "learning rate";
    charts[1].series = column_series(log, "learning_rate", "", 0);
  }
  mark_kept(charts[figure == "loss" ? 0 : 1], log, outcomes);
  if (log.empty()) return charts;
  for (Chart& chart : charts) {
    chart.from = 1.0;
    chart.to = static_cast<double>(log.rows_of(log.members().front()).size());
  }
  return charts;
}

using Named = std::map<std::string, double>;

// Of each figure the mean of those members that have it.
Named mean_of(const std::vector<FoldOutcome>& outcomes, Named FoldOutcome::*split) {
  std::map<std::string, std::vector<double>> values;
  for (const FoldOutcome& outcome : believed(outcomes))
    for (const auto& [name, value] : outcome.*split)
      values[name].push_back(value);
  Named means;
  for (const auto& [name, all] : values)
    means[name] = std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  return means;
}

// The head first: a figure's name and what it came to.
std::vector<std::vector<std::string>> figure_rows(const std::vector<FoldOutcome>& outcomes,
                                                  const std::vector<FoldOutcome>& votes) {
  std::vector<std::pair<std::string, Named>> columns{
      {"validation", mean_of(outcomes, &FoldOutcome::validation)},
      {"test", mean_of(outcomes, &FoldOutcome::test)}};
  if (!votes.empty()) columns.emplace_back("vote, test", votes.front().test);
  std::vector<std::vector<std::string>> rows{{""}};
  Named all;
  for (const auto& [head, figures] : columns) {
    rows.front().push_back(head);
    all.insert(figures.begin(), figures.end());
  }
  for (const auto& [name, value] : all) {
    auto& row = rows.emplace_back(std::vector{figure_words(name)});
    for (const auto& [head, figures] : columns)
      row.push_back(figures.contains(name) ? figure_text(figures.at(name)) : "");
  }
  return rows;
}

// As many rows as have room; names begin at the left, numbers end at the right of theirs.
void draw_rows(Canvas& canvas, const Box& box, const std::string& title,
               const std::vector<std::vector<std::string>>& rows) {
  constexpr double height = 24.0;
  constexpr double number_width = 92.0;
  if (rows.size() < 2 || box.height < 3.0 * height) return;
  canvas.text(title, {box.left, box.top + 0.5 * height}, look::title);
  const double rule = box.top + 2.2 * height;
  canvas.line(std::array{Spot{box.left, rule}, Spot{box.right(), rule}}, look::axis, 1.0);
  const auto room = static_cast<std::size_t>(box.height / height - 1.2);
  for (std::size_t i = 0; i < std::min(room, rows.size()); ++i) {
    const double y = box.top + (1.6 + (i > 0 ? 0.2 : 0.0) + static_cast<double>(i)) * height;
    TextStyle style{.colour = i == 0 ? look::faint : look::ink};
    double right = box.right() - number_width * static_cast<double>(rows[i].size() - 1);
    canvas.text(cut_to_width(rows[i].front(), right - box.left - 12.0, style), {box.left, y},
                style);
    style.anchor = Anchor::right;
    for (std::size_t cell = 1; cell < rows[i].size(); ++cell)
      canvas.text(rows[i][cell], {right += number_width, y}, style);
  }
}

void draw_charts(Canvas& canvas, const EpochLog& log, const std::vector<FoldOutcome>& outcomes,
                 const std::vector<FoldOutcome>& votes) {
  const MatrixChart matrix = confusion_of_test(outcomes, votes);
  const double left = matrix.counts.empty() ? plot_width : 0.55 * plot_width;
  const double half = (charts_height - 16.0) / 2.0;
  const double gap = 8.0;  // between the charts
  for (double top = 8.0; const Chart& chart : curves_of(log, outcomes)) {
    draw(canvas, {.left = 8.0, .top = top, .width = left - 8.0, .height = half - gap}, chart);
    top += half + gap;
  }
  if (matrix.counts.empty()) return;
  const double end = draw(
      canvas,
      {.left = left + 34.0, .top = 8.0, .width = plot_width - left - 42.0, .height = 2.0 * half},
      matrix);
  draw_rows(canvas,
            {.left = left + 34.0,
             .top = end + 16.0,
             .width = plot_width - left - 60.0,
             .height = charts_height - end - 24.0},
            outcomes.size() > 1 ? "mean over members" : "kept weights",
            figure_rows(outcomes, votes));
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
  draw_charts(canvas, EpochLog(metrics), outcomes, review.votes);
  return canvas.png();
}

}  // namespace headrace::inline v1::app
