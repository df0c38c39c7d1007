#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/training/stratified_kfold.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace headrace::inline v1::training {

namespace {

// Members of each class, classes in order of first appearance.
std::vector<std::vector<std::int64_t>> members_by_class(std::span<const std::int64_t> labels) {
  std::map<std::int64_t, std::size_t> number;
  std::vector<std::vector<std::int64_t>> members;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto [found, is_new] = number.try_emplace(labels[i], members.size());
    if (is_new) members.emplace_back();
    members[found->second].push_back(static_cast<std::int64_t>(i));
  }
  return members;
}

void shuffle(std::vector<int>& values, std::uint64_t seed, std::size_t class_number) {
  Random random({.seed = seed,
                 .loader = hash_name("stratified_kfold"),
                 .position = static_cast<std::int64_t>(class_number)});
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1],
              values[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
}

void check(const std::vector<std::vector<std::int64_t>>& members,
           const StratifiedKFoldOptions& options) {
  if (options.folds < 2)
    throw ConfigError("[stratified_kfold] needs at least 2 folds, got " +
                      std::to_string(options.folds));
  std::size_t largest = 0;
  for (const auto& of_class : members)
    largest = std::max(largest, of_class.size());
  if (largest < static_cast<std::size_t>(options.folds))
    throw ConfigError("[stratified_kfold] " + std::to_string(options.folds) +
                      " folds need a class of at least as many samples, the largest has " +
                      std::to_string(largest));
}

}  // namespace

std::vector<Fold> stratified_kfold(std::span<const std::int64_t> labels,
                                   const StratifiedKFoldOptions& options) {
  const auto members = members_by_class(labels);
  check(members, options);
  const auto folds = static_cast<std::size_t>(options.folds);

  std::vector<int> fold_of(labels.size());
  std::size_t place = 0;  // in the labels sorted by class number
  for (std::size_t k = 0; k < members.size(); ++k) {
    std::vector<int> dealt(members[k].size());
    for (int& fold : dealt)
      fold = static_cast<int>(place++ % folds);
    std::ranges::sort(dealt);
    if (options.shuffle) shuffle(dealt, options.seed, k);
    for (std::size_t i = 0; i < dealt.size(); ++i)
      fold_of[static_cast<std::size_t>(members[k][i])] = dealt[i];
  }

  std::vector<Fold> result(folds);
  for (std::size_t i = 0; i < labels.size(); ++i)
    for (std::size_t f = 0; f < folds; ++f)
      (static_cast<int>(f) == fold_of[i] ? result[f].test : result[f].train)
          .push_back(static_cast<std::int64_t>(i));
  return result;
}

}  // namespace headrace::inline v1::training
