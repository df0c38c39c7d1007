#pragma once

#include <headrace/apps/figures/reports.h>
#include <headrace/apps/run/metrics_writer.h>
#include <headrace/apps/terminal/table.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Width from which an epoch is one line; below it the step budget is a second one.
constexpr std::size_t one_line_columns = 100;

/// What a line of the table needs beside the epoch.
struct EpochLine {
  std::int64_t epochs = 1;                 ///< of the run
  monitor::StepBudget budget{};            ///< of the epoch's steps
  std::uint64_t peak_memory = 0;           ///< bytes
  std::size_t columns = one_line_columns;  ///< no line is wider
};

/// A figure of the table and where it has been taken.
struct ShownFigure {
  std::string name;
  bool train = false;
  bool validation = false;
};

/// The epochs of a run for a person: a line each under a head that comes once. Shown are the loss
/// and at most two other figures, first that which selects, while learning beside validation, and
/// where the time of a step went. What has no room is left out, peak memory first. Not thread-safe.
class EpochTable {
 public:
  /// Lines with a line end each: the head when it is the first epoch or the columns have changed,
  /// and the epoch.
  std::string lines(const EpochFacts& epoch, const EpochLine& line);

 private:
  void note_figures(const EpochFacts& epoch);

  std::vector<ShownFigure>
      figures_;  // all that there have been, in the order in which they are shown
  std::vector<RowTable::Column> columns_;  // under the last head
};

/// "classes 0.6931, auxiliary 0.7012": the terms of a loss without their "loss_"; empty where there
/// are none.
std::string loss_terms_text(const Figures& figures);

/// "loss terms: train classes 0.6931, auxiliary 0.7012; validation classes 0.6712, ..."; empty
/// where the loss has one term.
std::string loss_terms_line(const EpochFacts& epoch);

/// An epoch as a row for metrics.csv. Seconds are sums over the epoch's steps in this process.
MetricRow epoch_row(const EpochFacts& report);

}  // namespace headrace::inline v1::app
