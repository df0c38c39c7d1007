#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/recipe.h>

#include <filesystem>
#include <optional>
#include <vector>

namespace headrace::inline v1::training {

/// What a member said of its test's cases, all of them end to end, on the CPU.
struct MemberScores {
  at::Tensor scores = {};  ///< undefined where the member kept none
  TensorMap targets = {};
  TensorMap fitted = {};
};

/// Gathers the scores of an evaluation. Scores whose cases differ in shape are not kept. Not
/// thread-safe.
class HEADRACE_API ScoreKeeper {
 public:
  void add(const Cases& cases);
  /// All so far; waits for the device.
  MemberScores result() const;

 private:
  std::vector<Cases> cases_;
};

/// Writes them beside the member's checkpoints as test-scores.safetensors. Throws
/// `CheckpointError`.
HEADRACE_API void write_member_scores(const std::filesystem::path& folder,
                                      const MemberScores& scores);

/// Reads such a file; nothing where there is none. Throws `CheckpointError`.
HEADRACE_API MemberScores read_member_scores(const std::filesystem::path& folder);

/// The figures of the recipe's vote over all members; empty where a member kept no scores or their
/// targets differ, as in folds that are tested on records of their own. `course` gives the metric.
HEADRACE_API std::optional<Figures> vote_on_test(const Recipe& recipe, const Course& course,
                                                 const std::vector<MemberScores>& members);

}  // namespace headrace::inline v1::training
