#pragma once

#include <headrace/apps/figures/reports.h>
#include <headrace/apps/run/csv_table.h>
#include <headrace/apps/run/metrics_writer.h>
#include <headrace/apps/view/step_rows.h>
#include <headrace/apps/view/tensorboard_log.h>

#include <cstdint>
#include <optional>
#include <string>

namespace headrace::inline v1::app {

class RunFolder;

/// How many steps a member has done before a stage: the last of each stage before, by metrics.csv.
std::int64_t steps_before_stage(const CsvTable& metrics, std::int64_t member,
                                const std::string& stage);

/// Writes the figures of a run to its folder: metrics.jsonl has a row now and then and one at the
/// end of each epoch and of what follows the last, metrics.csv one an epoch, and TensorBoard's
/// files have all of them. Used by one thread.
class MetricsLog {
 public:
  /// The folder outlives the log; `warn` is called where TensorBoard's files cannot be written.
  MetricsLog(RunFolder& folder, const MetricsLogOptions& options, TensorBoardLog::Warn warn);

  void begin_fold(const FoldView& fold);
  void on_step(const StepFacts& step);
  /// A row of bad_steps.jsonl.
  void on_bad_step(const BadStepFacts& bad);
  /// Behind the last step of an epoch or of the process.
  void end_steps();
  /// `beside` comes at the end of the row. Throws ResourceError, as all that write rows.
  void on_epoch(const EpochFacts& epoch, const MetricRow& beside);
  /// A row of metrics.jsonl for a part of the run that is of no step and no epoch.
  void on_phase(const MetricRow& row);

 private:
  MetricRow with_place(MetricRow row) const;
  void write(const StepRow& row);

  RunFolder& folder_;
  StepRows rows_;
  std::optional<TensorBoardLog> tensorboard_;
  FoldView fold_;
};

}  // namespace headrace::inline v1::app
