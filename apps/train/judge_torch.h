#pragma once

#include <headrace/training/recipe.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What was decided about cases, and how wrong it is; all on the CPU.
struct Judged {
  /// `[N]` float: of classes the probability of the wrong one, or of several labels how far the
  /// farthest wrong one is off; of masks 1 - the mean Dice over the classes but the first that are
  /// there or predicted. 0 for what is right, and for absent rows.
  at::Tensor badness = {};
  at::Tensor scores = {};     ///< of classes `[N, K]`; of masks undefined
  at::Tensor predicted = {};  ///< as Recipe::predicted gives it
  at::Tensor truth = {};  ///< the same of the targets; of masks 255 where a pixel counts nowhere
};

/// Judges scores `[N, K]` against class indices, soft labels or labels `[N, K]` that exclude
/// nothing, or `[N, C, H, W]` against masks `[N, H, W]` or `[N, M, H, W]`; nothing where there are
/// no scores, or not one target.
std::optional<Judged> judge(const training::Recipe& recipe, const training::Cases& cases,
                            std::span<const training::TensorMap> fitted);

}  // namespace headrace::inline v1::app
