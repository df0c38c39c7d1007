#pragma once

#include <headrace/apps/config/document.h>
#include <headrace/apps/config/fields.h>
#include <headrace/engine/base/export.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What the report of a run is to say passed or failed; none: nothing.
struct Goals {
  std::optional<Bytes> ram{};                ///< most that the process holds
  std::optional<Bytes> gpu_memory{};         ///< most that is reserved of the GPU
  std::optional<double> gpu_busy{};          ///< least share of the time in which the GPU works
  std::optional<double> data_wait{};         ///< most of a step's time that waits for data, a share
  std::optional<std::int64_t> cpu_spikes{};  ///< most times that the machine's CPUs go over 90 %
  std::optional<Duration> time{};            ///< most that the run takes
  std::optional<double> accuracy{};          ///< least value of that figure
  Node figures{};                            ///< of other figures, see figure_goals()
};

/// A figure of the results and what it must be at least, or at most.
struct FigureGoal {
  std::string name{};
  double value = 0.0;
  bool most = false;

  bool operator==(const FigureGoal&) const = default;
};

/// Its keys.
HEADRACE_API void describe(Fields& fields, Goals& goals);

/// Goals for figures, `accuracy` first. Throws ConfigError for what is neither a number nor
/// {least: number} or {most: number}.
HEADRACE_API std::vector<FigureGoal> figure_goals(const Goals& goals);

}  // namespace headrace::inline v1::app
