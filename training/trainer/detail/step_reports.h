#pragma once

#include <headrace/engine/batch/row_origins.h>
#include <headrace/training/optimizer/update.h>
#include <headrace/training/trainer/async_scalars.h>
#include <headrace/training/trainer/trainer.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

namespace headrace::inline v1::training::detail {

// On a GPU the host sees its own waits only: the time in which the stream waited for a batch's copy
// lies in what it took for compute. It becomes known some steps later, and is moved then.
class ExposedCopy {
 public:
  explicit ExposedCopy(double since_built) : seen_(since_built) {}

  // What the loader says by now, in seconds since it was built.
  void see(double since_built) {
    due_ += std::max(0.0, since_built - std::exchange(seen_, since_built));
  }

  // From compute to copy, as much as is known and the step took.
  void move(StepTimes& times) {
    const double moved = std::clamp(due_, 0.0, std::max(0.0, times.compute_s));
    due_ -= moved;
    times.copy_s += moved;
    times.compute_s -= moved;
  }

 private:
  double seen_;
  double due_ = 0.0;
};

// Steps of which nobody knows yet whether they changed anything: of a device that arrives later.
class StepOutcomes {
 public:
  struct Step {
    std::int64_t number = 0;  // of the stage
    std::vector<RowOrigins> rows = {};
    bool skipped = false;
    double loss = 0.0;
    double norm = 0.0;
  };

  void push(Step step, const StepOutcome& outcome) {
    if (outcome.skipped.is_meta()) return;
    scalars_.push({outcome.skipped, outcome.loss, outcome.norm});
    steps_.push_back(std::move(step));
  }

  std::size_t size() const { return steps_.size(); }

  // The oldest; waits for it.
  Step pop() {
    Step step = std::move(steps_.front());
    steps_.pop_front();
    const std::vector<double> values = *scalars_.pop(true);
    step.skipped = values[0] != 0.0;
    step.loss = values[1];
    step.norm = values[2];
    return step;
  }

 private:
  std::deque<Step> steps_;
  AsyncScalars scalars_;
};

// Steps that were taken and not yet told of: their losses may still be on the way from the device.
// Told in order.
class StepReports {
 public:
  using Tell = std::function<void(const StepReport&)>;

  explicit StepReports(Tell tell) : tell_(std::move(tell)) {}

  // What a step's report waits for: its mean loss, the means of its terms, which may be none, and,
  // defined or not, the gradients' norm.
  struct Figures {
    at::Tensor loss = {};
    models::NamedTensors terms = {};
    at::Tensor norm = {};
  };

  // Figures are read where they are defined.
  void add(const StepReport& report, const Figures& figures);
  // The same where the figures, in the order of Figures, are read by someone else: `scalars()`; the
  // report has the names of the terms.
  void add(const StepReport& report);
  AsyncScalars& scalars() { return scalars_; }

  // Tells of those whose figures have arrived, but for the newest `keep`.
  void tell_arrived(std::size_t keep);
  // Waits for all of them.
  void tell_all();

  // The newest that nobody was told of; null where there is none.
  StepReport* newest() { return waiting_.empty() ? nullptr : &waiting_.back().report; }
  void clear();

 private:
  struct Waiting {
    StepReport report;
    bool reads = false;
  };

  bool tell_first(bool wait);

  Tell tell_;
  std::deque<Waiting> waiting_;
  AsyncScalars scalars_;
};

}  // namespace headrace::inline v1::training::detail
