#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/advice/advice.h>
#include <headrace/monitor/stage_load.h>
#include <headrace/monitor/step_budget.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::monitor {

/// How much the input holds the training back, by the share of the time spent waiting for data.
enum class InputBound {
  cannot_tell,      ///< too little measured, or clocks that disagree
  not_input_bound,  ///< below 5 %
  moderately,       ///< 5 % to 20 %
  highly,           ///< above 20 %
};

HEADRACE_API std::string_view to_string(InputBound bound);

/// What a window says about the loader.
struct HEADRACE_API Verdict {
  InputBound bound = InputBound::cannot_tell;
  double data_stall_fraction = 0.0;
  std::string bottleneck{};  ///< a step's name, "consumer", or empty when nobody can tell
  std::string stage{};       ///< the bottleneck's place in the graph: "read", "augment", "consumer"
  std::string next{};        ///< the step that would come next; may be empty
  /// Of the bottleneck; for the consumer, that of the slowest stage: what is in reserve.
  double headroom = 0.0;
  double delivered_per_s = 0.0;
  double demand_per_s = 0.0;            ///< what the consumer would take; 0 without one
  std::string reason{};                 ///< evidence in words
  std::vector<StageCapacity> stages{};  ///< least headroom first
  std::optional<Advice> advice{};

  /// "highly input-bound (data stall 31 %): decode holds the loader back, ..." For the end of an
  /// epoch.
  std::string sentence() const;
  /// One JSON object without a line break.
  std::string json() const;
};

/// The share of waiting as a band: below 5 %, up to and with 20 %, above.
HEADRACE_API InputBound input_bound(double data_stall_fraction);

/// Judges a training run's window: the steps say how much was waited, the load says for which
/// stage.
HEADRACE_API Verdict judge(const StepBudget& budget, const LoaderLoad& load,
                           const HostFacts& host = {});

/// Judges a loader by its own consumer's wait (a bench). Without a consumer the stage that sets the
/// pace is named.
HEADRACE_API Verdict judge(const LoaderLoad& load, const HostFacts& host = {});

}  // namespace headrace::inline v1::monitor
