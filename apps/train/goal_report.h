#pragma once

#include <headrace/apps/figures/fold_outcome.h>
#include <headrace/apps/train/goals.h>
#include <headrace/monitor/memory/memory_watch.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

class RunView;
class TrainingRun;

/// What a run that has been trained from `began` on came to, but for its figures.
GoalFacts goal_facts(const TrainingRun& run, const RunView& view, monitor::MemoryWatch& memory,
                     std::chrono::steady_clock::time_point began);

/// What another process came to that trained the run, as "goals" in result.json of its folder tell
/// it, but for its figures; nothing is known where there are none.
GoalFacts earlier_goal_facts(const std::filesystem::path& folder);

/// Sets the figures that goals are judged by: those of the vote that decides where members voted,
/// else the mean over the members, of the test, or where nothing was tested of the validation.
void add_figures(GoalFacts& facts, const std::vector<FoldOutcome>& outcomes,
                 const std::vector<FoldOutcome>& votes);

/// Adds "goals" to result.json of a run's folder: a list of "goal", "at_most" or "at_least",
/// "came", "result" ("pass", "fail", "not judged", with "why") and "sentence", which says all of it
/// with units. Without goals the file stays as it is. Throws DataError where there is no such file.
void write_goals(const std::filesystem::path& folder, const std::vector<GoalOutcome>& goals);

class RunView;

/// Writes what came of a run's goals to result.json of its folder, to its log and to standard
/// output, and gives the names of those that failed; empty: none did. Throws what write_goals()
/// throws.
std::string say_goals(const std::vector<GoalOutcome>& goals, const std::filesystem::path& folder,
                      RunView& view);

/// Whether some outcomes are refused (`FoldOutcome::refused`): says which and why, as how the run
/// ends.
bool say_refused(const std::vector<FoldOutcome>& outcomes, RunView& view);

}  // namespace headrace::inline v1::app
