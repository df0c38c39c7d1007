#pragma once

#include <headrace/engine/batch/row_origins.h>
#include <headrace/training/async_scalars.h>
#include <headrace/training/update.h>

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace headrace::inline v1::training::detail {

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

}  // namespace headrace::inline v1::training::detail
