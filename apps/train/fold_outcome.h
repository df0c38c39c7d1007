#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace headrace::inline v1::app {

/// What a fold came to.
struct FoldOutcome {
  bool interrupted = false;
  double validation_accuracy = 0.0;  ///< The best, by which the weights were selected.
  std::int64_t best_epoch = 0;       ///< From 0.
  double test_accuracy = 0.0;        ///< Of these weights on the outer split.
};

/// What a fold that is done came to (result.json of its folder); nothing for one that is not.
/// Throws Failure with the exit code for checkpoints when the file cannot be understood.
std::optional<FoldOutcome> read_fold_outcome(const std::filesystem::path& folder);

/// Marks the fold as done.
void write_fold_outcome(const std::filesystem::path& folder, const FoldOutcome& outcome);

}  // namespace headrace::inline v1::app
