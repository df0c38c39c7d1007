#pragma once

#include <headrace/training/async_scalars.h>
#include <headrace/training/trainer.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

namespace headrace::inline v1::training::detail {

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
