#pragma once

#include <headrace/training/best_weights.h>
#include <headrace/training/recipe.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The weights of a member of a run.
struct Predictor {
  std::filesystem::path file{};
  training::BestWeights weights{};
  training::Member member{};  ///< its number and name, without records

  /// Throws CheckpointError for a file without that note.
  const std::string& note(const std::string& name) const;
};

/// The weights that paths stand for, by the numbers of their members: files, or those of a run's or
/// member's folder. They are of one run, each member once. Throws CheckpointError.
std::vector<Predictor> read_predictors(const std::vector<std::filesystem::path>& paths);

}  // namespace headrace::inline v1::app
