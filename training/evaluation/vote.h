#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/confusion_matrix.h>
#include <headrace/training/metrics/nan_cases.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::training {

/// What a member said of its test's cases, all of them end to end, on the CPU.
struct MemberScores {
  std::int64_t member = -1;  ///< its number; not in the file
  at::Tensor scores = {};    ///< `[N, ...]` float; undefined where the member kept none
  at::Tensor present = {};   ///< `[N]` bool: cases that count with this member
  at::Tensor records = {};   ///< `[N, 2]` int64: record and part that each came from, or undefined
  TensorMap targets = {};    ///< those with a row for each case
  TensorMap fitted = {};
};

/// Gathers the scores of an evaluation, batch by batch into host memory: that waits for the device.
/// Where a batch has no scores, of another shape, or of pixels (more than two axes, which would be
/// too large: `evaluate_together()` votes on those), nothing is kept. Not thread-safe.
class HEADRACE_API ScoreKeeper {
 public:
  void add(const Cases& cases);
  /// All so far.
  MemberScores result() const;

 private:
  std::vector<MemberScores> parts_;
  bool keeps_ = true;
};

/// Writes them beside the member's checkpoints as test-scores.safetensors. Throws
/// `CheckpointError`.
HEADRACE_API void write_member_scores(const std::filesystem::path& folder,
                                      const MemberScores& scores);

/// Reads such a file; nothing where there is none. Throws `CheckpointError`.
HEADRACE_API MemberScores read_member_scores(const std::filesystem::path& folder);

/// What members say together of the same cases, each with its number, and `fitted` by the
/// validation of each: `Recipe::vote`, with the targets that are the same with all of them; a case
/// counts where it counts with one of them.
HEADRACE_API Cases vote_of(const Recipe& recipe, std::span<Cases> of_members,
                           std::span<const TensorMap> fitted);

/// Rows that count with one of these members at least; undefined when all do.
HEADRACE_API at::Tensor counted_by_one(std::span<const Cases> of_members);

/// What the validations of several members have fitted, each tensor as the mean over those that
/// have it: thresholds for decisions about their mean scores.
HEADRACE_API TensorMap mean_of(std::span<const TensorMap> fitted);

/// What one way to decide by the votes of members came to.
struct VoteFigures {
  std::string name = {};  ///< of the way, "soft"; empty: the only one
  Figures figures = {};
  std::optional<models::ConfusionMatrix> confusion = {};  ///< of the metric, if it has one
  std::int64_t nan = 0;  ///< cases of which it says nothing: no figure is a number then
};

/// Counts votes, batch by batch, by each metric of a recipe. Not thread-safe.
class HEADRACE_API VoteCounts {
 public:
  explicit VoteCounts(std::vector<VoteMetric> metrics);

  /// The next cases of a pass, `first` being the number of their first, or after a lack of memory
  /// the same ones again, whole or in parts: no metric counts one twice. From cases without scores
  /// or targets on there is nothing to count by.
  void add(const Cases& voted, std::int64_t first);
  /// Of all cases, the way that decides first; empty without metrics, and where there was nothing
  /// to count by. May wait for the device.
  std::vector<VoteFigures> result();

 private:
  struct Counted {
    VoteMetric way;
    std::int64_t behind = 0;  // the number of the next case
  };
  std::vector<Counted> ways_;
  NanCases nan_;
  std::int64_t seen_ = 0;  // the number of the next case that may be a NaN
};

/// The figures of the recipe's vote over all members, by `Recipe::metrics_of_vote`; empty where
/// there is none, a member kept no scores or says nothing (NaN) of a case that counts, they were
/// tested on records of their own, or no target is the same with all.
HEADRACE_API std::vector<VoteFigures> vote_on_test(const Recipe& recipe,
                                                   const std::vector<MemberScores>& members);

}  // namespace headrace::inline v1::training
