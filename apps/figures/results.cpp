#include <headrace/apps/figures/figure_spread.h>
#include <headrace/apps/figures/results.h>
#include <headrace/engine/base/internal/atomic_file.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using Cells = std::vector<std::pair<std::string, std::string>>;

void add_figures(Cells& cells, const std::string& prefix,
                 const std::map<std::string, double>& figures) {
  for (const auto& [name, value] : figures)
    cells.emplace_back(prefix + name, fmt::format("{}", value));
}

void add_row(CsvTable& table, const FoldOutcome& outcome, const std::string& best_epoch) {
  Cells cells{{"member", outcome.member.empty() ? "run" : outcome.member},
              {"selected_by", outcome.selected_by},
              {"best_epoch", best_epoch}};
  add_figures(cells, "val_", outcome.validation);
  add_figures(cells, "test_", outcome.test);
  std::vector<std::string> names;
  for (const auto& [name, value] : cells)
    names.push_back(name);
  table.add_columns(names);
  std::vector<std::string> row(table.columns.size());
  for (const auto& [name, value] : cells) {
    const auto column = std::find(table.columns.begin(), table.columns.end(), name);
    row[static_cast<std::size_t>(column - table.columns.begin())] = value;
  }
  table.rows.push_back(std::move(row));
}

// Two rows more where there are several members.
void add_spread(CsvTable& table, const std::vector<FoldOutcome>& all) {
  const std::vector<FoldOutcome> outcomes = believed(all);
  if (outcomes.size() < 2) return;
  FoldOutcome mean{.member = "mean", .selected_by = outcomes.front().selected_by};
  FoldOutcome deviation{.member = "standard deviation", .selected_by = mean.selected_by};
  for (const auto part : {&FoldOutcome::validation, &FoldOutcome::test})
    for (const auto& [name, spread] : spread_of(outcomes, part)) {
      (mean.*part)[name] = spread.mean;
      (deviation.*part)[name] = spread.deviation;
    }
  add_row(table, mean, "");
  add_row(table, deviation, "");
}

}  // namespace

std::string results_csv(const std::vector<FoldOutcome>& outcomes,
                        const std::vector<FoldOutcome>& votes) {
  CsvTable table;
  for (const FoldOutcome& outcome : outcomes)
    add_row(table, outcome, outcome.validation.empty() ? "" : std::to_string(outcome.best_epoch));
  add_spread(table, outcomes);
  for (const FoldOutcome& vote : votes)
    add_row(table, vote, "");
  return table.text();
}

void write_results(const std::filesystem::path& folder, const std::vector<FoldOutcome>& outcomes,
                   const TestReview& review) {
  if (outcomes.empty()) return;
  write_file_atomically(folder / "results.csv", results_csv(outcomes, review.votes));
  if (review.gallery.records > 0)
    write_file_atomically(folder / "worst.png", worst_png(review.gallery));
  const CsvTable metrics = read_csv_file(folder / "metrics.csv");
  if (metrics.rows.empty()) return;
  write_file_atomically(folder / "results.png", results_png(metrics, outcomes, review));
}

}  // namespace headrace::inline v1::app
