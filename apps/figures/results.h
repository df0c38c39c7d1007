#pragma once

#include <headrace/apps/figures/fold_outcome.h>
#include <headrace/apps/figures/test_review.h>
#include <headrace/apps/plot/matrix_chart.h>
#include <headrace/apps/run/csv_table.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A row for each member, of several two for their mean and standard deviation, and one for each
/// way their votes were decided: "member", "selected_by", "best_epoch" (from 0),
/// and all figures as "val_<name>" and "test_<name>".
std::string results_csv(const std::vector<FoldOutcome>& outcomes,
                        const std::vector<FoldOutcome>& votes);

/// The confusion matrix of the test, all members together; where they have not the same classes
/// that of the vote that decides, the first. Empty where there is none.
MatrixChart confusion_of_test(const std::vector<FoldOutcome>& outcomes,
                              const std::vector<FoldOutcome>& votes);

/// A PNG 1200 pixels wide: the loss and the figure that selects (where that is the loss, the
/// learning rate) over the epochs, of several members each faintly and their mean; beside them the
/// confusion_of_test(), where there is one, with the members' figures and the vote's below; and
/// below all, where there are some, pictures of the test with what is true of them and what was
/// predicted. `metrics` is the run's metrics.csv.
std::vector<std::byte> results_png(const CsvTable& metrics,
                                   const std::vector<FoldOutcome>& outcomes,
                                   const TestReview& review = {});

/// Writes both into the run folder, results.csv and results.png, and worst.png (see worst_png())
/// where pictures of the test can be shown; no results.png where the run has no epochs.
void write_results(const std::filesystem::path& folder, const std::vector<FoldOutcome>& outcomes,
                   const TestReview& review);

}  // namespace headrace::inline v1::app
