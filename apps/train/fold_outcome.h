#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// What a fold came to.
struct FoldOutcome {
  bool interrupted = false;
  double validation_accuracy = 0.0;      ///< The best, by which the weights were selected.
  std::int64_t best_epoch = 0;           ///< From 0.
  double test_accuracy = 0.0;            ///< Of these weights on the outer split.
  std::map<std::string, double> more{};  ///< What a job reports beside these.
};

/// What a fold that is done came to (result.json of its folder); nothing for one that is not.
/// Throws Failure with the exit code for checkpoints when the file cannot be understood.
std::optional<FoldOutcome> read_fold_outcome(const std::filesystem::path& folder);

/// A line for each fold, and one for all of them.
std::string fold_results(const std::vector<std::pair<int, FoldOutcome>>& outcomes);

/// Marks the fold as done.
void write_fold_outcome(const std::filesystem::path& folder, const FoldOutcome& outcome);

}  // namespace headrace::inline v1::app
