#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1::training {

/// One division of the samples; both lists ascend.
struct Fold {
  std::vector<std::int64_t> train = {};
  std::vector<std::int64_t> test = {};
};

struct StratifiedKFoldOptions {
  int folds = 5;
  bool shuffle = true;
  std::uint64_t seed = 42;
};

/// Divides samples into folds that each have the classes in the proportions of the whole: the
/// counts of a class in two folds differ by at most one. How many of a class a fold gets is
/// scikit-learn's rule: classes are numbered by first appearance, the labels sorted by that number,
/// and fold f counts every folds-th of them from f. Which samples it gets is decided within each
/// class by a Fisher-Yates shuffle of the fold numbers, drawn from Philox keyed by seed and class
/// number; without shuffling, in order. Throws `ConfigError` for fewer than two folds, or if every
/// class has fewer samples than there are folds.
HEADRACE_API std::vector<Fold> stratified_kfold(std::span<const std::int64_t> labels,
                                                const StratifiedKFoldOptions& options = {});

}  // namespace headrace::inline v1::training
