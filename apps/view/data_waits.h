#pragma once

#include <headrace/monitor/format.h>

#include <cstdint>
#include <string>

namespace headrace::inline v1::app {

/// How long the steps of an epoch waited for data, warm-up and all.
class DataWaits {
 public:
  void add(std::int64_t step, double seconds) {
    ++steps_;
    sum_ += seconds;
    if (steps_ > 1 && seconds <= longest_) return;
    longest_ = seconds;
    longest_step_ = step;
  }

  /// "data wait: mean 1.20 ms, longest 98.0 ms (step 1), over 250 steps"
  std::string sentence() const {
    if (steps_ == 0) return "data wait: no step";
    return "data wait: mean " + monitor::format_seconds(sum_ / static_cast<double>(steps_)) +
           ", longest " + monitor::format_seconds(longest_) + " (step " +
           std::to_string(longest_step_) + "), over " + std::to_string(steps_) + " steps";
  }

 private:
  std::int64_t steps_ = 0;
  std::int64_t longest_step_ = 0;
  double sum_ = 0.0;
  double longest_ = 0.0;
};

}  // namespace headrace::inline v1::app
