#pragma once

#include <headrace/apps/figures/reports.h>
#include <headrace/apps/run/metrics_writer.h>
#include <headrace/engine/base/origin.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// A step whose loss or gradients were not finite, as it is written down.
struct BadStepFacts {
  std::int64_t epoch = 0;
  std::int64_t step = 0;  ///< of the stage, from 1
  double loss = 0.0;
  double gradient_norm = 0.0;
  std::string done{};             ///< "skipped", "reloaded" or "aborted"
  std::vector<Origin> samples{};  ///< that the step was taken with
};

/// One JSON object without a line end: member, stage (where there are several), epoch, step, loss
/// and gradient_norm (null where they are not finite), done, and samples, each with its index in
/// the source, its position in the epoch's order and its file.
std::string to_json(const BadStepFacts& bad, const FoldView& fold);

/// Some steps in a row, as metrics.jsonl and TensorBoard say them.
struct StepRow {
  std::int64_t epoch = 0;
  std::int64_t step = 0;  ///< the last of them, since the start of the stage
  double learning_rate = 0.0;
  /// Means over the steps where they were read and finite: "loss", its terms where there are
  /// several, "gradient_norm".
  Figures figures{};
  double samples_per_s = 0.0;  ///< not a number where the steps took no time
};

/// Gathers steps into rows: one each `every` steps, or for 0 the first step and then about every
/// five seconds. A step that is not behind the one before begins anew: what was gathered of steps
/// that are done again is forgotten. Not thread-safe.
class StepRows {
 public:
  explicit StepRows(std::int64_t every) : every_(every) {}

  /// The row that ends with this step, if one does.
  std::optional<StepRow> add(const StepFacts& step);
  /// The row of the steps behind the last one; nothing where there are none.
  std::optional<StepRow> rest();

 private:
  using Clock = std::chrono::steady_clock;
  struct Mean {
    double sum = 0.0;
    std::int64_t count = 0;
  };

  void add(const std::string& name, double value);
  void clear();
  bool due() const;

  std::int64_t every_;
  StepFacts last_;
  std::int64_t steps_ = 0;  // since the row before, as all that follows
  std::int64_t samples_ = 0;
  double seconds_ = 0.0;
  std::vector<std::pair<std::string, Mean>> means_;
  Clock::time_point row_time_{};
};

/// A row for metrics.jsonl: epoch, step, the figures (a loss that was not read is not a number),
/// learning rate and samples a second.
MetricRow metric_row(const StepRow& row);

}  // namespace headrace::inline v1::app
