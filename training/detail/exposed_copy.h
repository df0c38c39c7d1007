#pragma once

#include <headrace/training/trainer.h>

#include <algorithm>
#include <utility>

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

}  // namespace headrace::inline v1::training::detail
