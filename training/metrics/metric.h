#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/origin.h>
#include <headrace/engine/batch/row_origins.h>
#include <headrace/models/metrics/confusion_accumulator.h>
#include <headrace/models/networks/network.h>
#include <headrace/training/example.h>
#include <headrace/training/loss_terms.h>
#include <headrace/training/optimizer/schedules.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

using models::Output;

/// Whether there is anything in it.
inline bool has_values(const Output& output) {
  return output.main.defined() || !output.deep.empty() || !output.extra.empty() ||
         !output.losses.empty();
}

/// What is predicted of whole cases (rows, volumes), with what is true of them. Nothing has waited
/// for the device.
struct Cases {
  /// `[N, ...]` float: what a vote is over, as probabilities. Undefined while a network learns, and
  /// where the course has none.
  at::Tensor scores = {};
  Output output = {};                ///< of the network, where one forward pass made the cases
  Example example = {};              ///< their targets; which of them are present
  bool are_rows = false;             ///< the rows of the batch that they came with, in its order
  std::int64_t first = 0;            ///< number of the first in its evaluation
  std::int64_t member = -1;          ///< in a vote: the number of the member that gave the scores
  std::vector<Origin> origins = {};  ///< where they were asked for; of rows the evaluation's task
  RowOrigins rows = {};              ///< of cases that are rows, to be listed where one is named
  /// Those of which something could not be read: what they hold means nothing, and they are absent.
  std::vector<std::int64_t> unread = {};
};

/// How many cases there are: rows of the scores, else those of the example, absent ones too.
HEADRACE_API std::int64_t case_count(const Cases& cases);

/// Figures over many cases. Owns what it needs: it may outlive its course. Whoever asks it counts
/// NaN among the cases (`NanCases`) and believes no figure then: what it makes of them does not
/// matter, but it must not throw. Not thread-safe.
class HEADRACE_API Metric {
 public:
  Metric() = default;
  Metric(const Metric&) = delete;
  Metric& operator=(const Metric&) = delete;
  virtual ~Metric() = default;

  /// Cases come in the order of the evaluation, without gradient and outside of autocast. Those of
  /// a network that learns have an output and no scores. Where it throws it must have counted none
  /// of them: after a lack of memory the same cases come again.
  virtual void add(const Cases& cases) = 0;
  /// Of all cases so far; may wait for the device.
  virtual Figures result() = 0;
  /// What `result()` has chosen, such as thresholds: kept in checkpoints, given to the metrics of
  /// the test, and to predictions. CPU tensors.
  virtual TensorMap fitted() const { return {}; }
  /// Counts of classes that the figures come from, after result(); none by default.
  virtual std::optional<models::ConfusionMatrix> confusion() const { return {}; }
  /// Of the metric of training: the sums so far, for a checkpoint inside an epoch, on any device,
  /// and how to go on from them (on the CPU).
  virtual TensorMap state() const { return {}; }
  virtual void restore(const TensorMap&) {}
};

/// By which figure of the validation weights are selected, and early stopping ends a stage.
struct Selection {
  std::string figure = "loss";
  Goal goal = Goal::minimum;
};

/// "accuracy", "balanced_accuracy" and "macro_f1" of class indices or soft labels (of which the
/// largest counts) against the largest of the first `classes` scores of a row, or while a network
/// learns of the values of `Output::main`. Rows that are absent do not count.
class HEADRACE_API ClassificationMetric final : public Metric {
 public:
  /// Throws `ConfigError` for fewer than two classes.
  explicit ClassificationMetric(std::int64_t classes);

  void add(const Cases& cases) override;
  Figures result() override;
  std::optional<models::ConfusionMatrix> confusion() const override { return confusion_.matrix(); }
  TensorMap state() const override;
  void restore(const TensorMap& state) override;

 private:
  models::ConfusionAccumulator confusion_;
};

}  // namespace headrace::inline v1::training
