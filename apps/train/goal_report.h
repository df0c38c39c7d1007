#pragma once

#include <headrace/apps/train/fold_outcome.h>
#include <headrace/apps/train/goals.h>
#include <headrace/monitor/memory_watch.h>

#include <filesystem>
#include <vector>

namespace headrace::inline v1::app {

class RunView;
class TrainingRun;

/// What a run that has been trained came to, but for its figures and its time.
GoalFacts goal_facts(const TrainingRun& run, const RunView& view, monitor::MemoryWatch& memory);

/// Sets the figures that goals are judged by: those of the vote that decides where members voted,
/// else the mean over the members, of the test, or where nothing was tested of the validation.
void add_figures(GoalFacts& facts, const std::vector<FoldOutcome>& outcomes,
                 const std::vector<FoldOutcome>& votes);

/// Adds "goals" to result.json of a run's folder: a list of "goal", "at_most" or "at_least",
/// "came", "result" ("pass", "fail", "not judged", with "why") and "sentence", which says all of it
/// with units. Without goals the file stays as it is. Throws DataError where there is no such file.
void write_goals(const std::filesystem::path& folder, const std::vector<GoalOutcome>& goals);

}  // namespace headrace::inline v1::app
