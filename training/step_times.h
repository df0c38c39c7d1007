#pragma once

#include <headrace/engine/base/export.h>

namespace headrace::inline v1::training {

/// Where the wall time of a step went, in seconds; the four parts sum to the whole. On a GPU work
/// is queued and the host keeps at most two micro-batches ahead of it: compute holds the time in
/// which it waits for that, so parts are right over many steps and not in each.
struct StepTimes {
  double data_wait = 0.0;  ///< blocked until the loader had a batch
  double copy = 0.0;     ///< making an example of it (copy to the device, layout, dtype) and, of a
                         ///< GPU, the time in which its stream waited for a batch's copy
  double compute = 0.0;  ///< forward, backward, optimiser
  double other = 0.0;    ///< the rest: checkpoints, callbacks, bookkeeping since the step before

  double total() const { return data_wait + copy + compute + other; }
  HEADRACE_API StepTimes& operator+=(const StepTimes& more);
};

}  // namespace headrace::inline v1::training
