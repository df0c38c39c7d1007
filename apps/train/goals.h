#pragma once

#include <headrace/apps/job/goal_settings.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What a run came to, as far as goals are set for it. Absent: not known.
struct GoalFacts {
  bool trained = true;                        ///< an epoch, by this process
  std::optional<std::uint64_t> ram{};         ///< most that the process held, bytes
  std::optional<std::uint64_t> gpu_memory{};  ///< most that was reserved; none: no GPU was used
  std::optional<double> gpu_busy{};           ///< mean share of its GPUs over the training
  std::optional<double> data_wait{};          ///< share of the steps' time, after warm-up
  std::optional<std::int64_t> cpu_spikes{};   ///< times over 90 % of the machine's CPUs
  std::optional<double> seconds{};            ///< since the program was asked to train
  std::map<std::string, double> figures{};    ///< of the results, by name
  std::string figures_of = "results";         ///< whose figures: "test, mean of 5"
};

enum class GoalState : unsigned char { pass, fail, not_judged };

/// A goal and what came of it.
struct GoalOutcome {
  std::string goal{};            ///< "data_wait"; of a figure its name
  bool most = false;             ///< whether it may be `wanted` at most, else at least
  double wanted = 0.0;           ///< bytes, a share, a count, seconds, or a figure
  std::optional<double> came{};  ///< likewise
  GoalState state = GoalState::not_judged;
  std::string why{};          ///< it was not judged
  std::string wanted_text{};  ///< "at most 5 %"
  std::string came_text{};    ///< "came 1.2 %"
};

/// Each goal that is set, in the order of the keys. A goal is reached at its very value.
std::vector<GoalOutcome> judge_goals(const Goals& goals, const GoalFacts& facts);

/// "goal ram: at most 10.0 GiB, held 11.0 GiB: FAIL": what was wanted, what came, "pass" or "FAIL",
/// or why it was not judged.
std::string goal_sentence(const GoalOutcome& goal);

/// The sentence of each, with its line end.
std::string goals_text(const std::vector<GoalOutcome>& goals);

/// Names of those that failed, "data_wait, accuracy"; empty: none did.
std::string missed_goals(const std::vector<GoalOutcome>& goals);

}  // namespace headrace::inline v1::app
