#pragma once

#include <headrace/monitor/step_budget.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// Measured values by name, in the order in which they are shown: {"loss", 0.31}, {"accuracy",
/// 0.9}.
using Figures = std::vector<std::pair<std::string, double>>;

/// What a member of a run (a fold, a pair of classes) is, for the lines about it.
struct FoldView {
  int fold = 0;  ///< its number
  std::int64_t epochs = 1;
  std::int64_t samples_per_epoch = 1;
  std::string stage{};  ///< its name, where there are several
  std::int64_t stage_number = 0;
  std::string member{};        ///< its name, "fold 0"; empty where it is the only one
  std::string folder = "run";  ///< of what is its own in a run folder, "fold-0"
};

/// What is kept of a run's figures.
struct MetricsLogOptions {
  std::int64_t every = 0;   ///< steps between two rows; 0: about five seconds
  bool tensorboard = true;  ///< whether there is tb/
};

/// One optimiser step, as it is shown.
struct StepFacts {
  std::int64_t epoch = 0;
  std::int64_t step = 0;           ///< since the start of the member
  std::int64_t samples = 0;        ///< of this step
  std::int64_t epoch_samples = 0;  ///< of the epoch so far
  double learning_rate = 0.0;
  std::optional<double> loss{};  ///< mean of the step, where it was read
  Figures terms{};  ///< of the loss, "loss_dice", where there are several; read with it
  std::optional<double> gradient_norm{};  ///< before clipping; likewise
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

/// The terms of lines that are shown now and then, each as ShownLoss has it.
class ShownTerms {
 public:
  void add(const Figures& terms) {
    if (!terms.empty()) shown_.resize(terms.size());
    for (std::size_t i = 0; i < terms.size(); ++i) {
      shown_[i].first = terms[i].first;
      shown_[i].second.add(terms[i].second);
    }
  }

  Figures next() {
    Figures terms;
    for (auto& [name, term] : shown_)
      if (const std::optional<double> mean = term.next()) terms.emplace_back(name, *mean);
    return terms;
  }

 private:
  std::vector<std::pair<std::string, ShownLoss>> shown_;
};

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
  Confusion confusion{};      ///< of the validation
  std::string selected_by{};  ///< the validation figure that selects; may be empty
  bool improved = false;
  std::int64_t steps = 0;      ///< of this process
  monitor::StepTimes times{};  ///< sum over these steps
  double validation_s = none;
  double seconds = 0.0;
};

}  // namespace headrace::inline v1::app
