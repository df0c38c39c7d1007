#pragma once

#include <headrace/monitor/step_budget.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// One optimiser step, as it is shown.
struct StepFacts {
  std::int64_t epoch = 0;
  std::int64_t step = 0;           ///< since the start of the member
  std::int64_t samples = 0;        ///< of this step
  std::int64_t epoch_samples = 0;  ///< of the epoch so far
  double learning_rate = 0.0;
  std::optional<double> loss{};  ///< mean of the step, where it was read
  monitor::StepTimes times{};
};

/// The loss of a line that is shown now and then: the mean of those read since the line before, or
/// where none was, what that line had; nothing before the first is read.
class ShownLoss {
 public:
  void add(std::optional<double> loss) {
    if (!loss) return;
    sum_ += *loss;
    ++count_;
  }

  std::optional<double> next() {
    if (count_ > 0) shown_ = sum_ / static_cast<double>(count_);
    sum_ = 0.0;
    count_ = 0;
    return shown_;
  }

 private:
  double sum_ = 0.0;
  std::int64_t count_ = 0;
  std::optional<double> shown_;
};

/// Measured values by name, in the order in which they are shown: {"loss", 0.31}, {"accuracy",
/// 0.9}.
using Figures = std::vector<std::pair<std::string, double>>;

/// Counts of cases by their true class (rows) and the class that was predicted; empty: not known.
struct Confusion {
  std::vector<std::vector<std::int64_t>> counts{};
  std::vector<std::string> classes{};  ///< their names; empty: numbers
};

/// The figure of that name; not a number where there is none.
inline double figure(const Figures& figures, const std::string& name) {
  for (const auto& [of, value] : figures) {
    if (of == name) return value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// One epoch, as it is shown. Figures that were not taken are absent or not numbers.
struct EpochFacts {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  std::int64_t epoch = 0;
  std::int64_t step = 0;
  double learning_rate = 0.0;
  Figures train{};            ///< while the network learned
  Figures validation{};       ///< behind the epoch; empty where nothing was validated
  std::string selected_by{};  ///< the validation figure that selects; may be empty
  bool improved = false;
  std::int64_t steps = 0;      ///< of this process
  monitor::StepTimes times{};  ///< sum over these steps
  double validation_s = none;
  double seconds = 0.0;
};

}  // namespace headrace::inline v1::app
