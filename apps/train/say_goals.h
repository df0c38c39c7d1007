#pragma once

#include <headrace/apps/train/goals.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

class RunView;

/// Writes what came of a run's goals to result.json of its folder, to its log and to standard
/// output, and gives the names of those that failed; empty: none did. Throws what write_goals()
/// throws.
std::string say_goals(const std::vector<GoalOutcome>& goals, const std::filesystem::path& folder,
                      RunView& view);

}  // namespace headrace::inline v1::app
