#include <headrace/engine/base/error.h>
#include <headrace/training/stratified_kfold.h>

#include "../support/torch_doctest.h"

#include <algorithm>
#include <map>
#include <vector>

using namespace headrace::training;

namespace {

using Counts = std::map<std::int64_t, int>;

Counts counts_of(const std::vector<std::int64_t>& indices,
                 const std::vector<std::int64_t>& labels) {
  Counts counts;
  for (const std::int64_t i : indices)
    ++counts[labels[static_cast<std::size_t>(i)]];
  return counts;
}

std::vector<std::int64_t> known_labels() {
  std::vector<std::int64_t> labels(7, 0);
  labels.insert(labels.end(), 5, 1);
  labels.insert(labels.end(), 3, 2);
  return labels;
}

}  // namespace

TEST_CASE("folds get the class counts computed by hand") {
  const auto labels = known_labels();
  const auto folds = stratified_kfold(labels);
  REQUIRE(folds.size() == 5);
  CHECK((counts_of(folds[0].test, labels) == Counts{{0, 2}, {1, 1}}));
  CHECK((counts_of(folds[1].test, labels) == Counts{{0, 2}, {1, 1}}));
  for (std::size_t f = 2; f < 5; ++f)
    CHECK((counts_of(folds[f].test, labels) == Counts{{0, 1}, {1, 1}, {2, 1}}));
}

TEST_CASE("every sample is tested in exactly one fold and trained on in the others") {
  std::vector<std::int64_t> labels;
  for (int i = 0; i < 997; ++i)
    labels.push_back(i * i % 7 % 5);
  std::vector<int> tested(labels.size());
  for (const Fold& fold : stratified_kfold(labels, {.folds = 4, .seed = 9})) {
    CHECK(std::ranges::is_sorted(fold.train));
    CHECK(std::ranges::is_sorted(fold.test));
    CHECK(fold.train.size() + fold.test.size() == labels.size());
    for (const std::int64_t i : fold.test) {
      ++tested[static_cast<std::size_t>(i)];
      CHECK_FALSE(std::ranges::binary_search(fold.train, i));
    }
  }
  CHECK(std::ranges::all_of(tested, [](int times) { return times == 1; }));
}

TEST_CASE("class counts of two folds differ by at most one") {
  std::vector<std::int64_t> labels;
  for (int i = 0; i < 503; ++i)
    labels.push_back(i % 11 < 6 ? 40 : i % 11 < 9 ? -3 : 7);
  const auto folds = stratified_kfold(labels, {.folds = 5});
  for (const std::int64_t label : {40, -3, 7}) {
    std::vector<int> counts;
    for (const Fold& fold : folds)
      counts.push_back(counts_of(fold.test, labels)[label]);
    CHECK(std::ranges::max(counts) - std::ranges::min(counts) <= 1);
  }
}

TEST_CASE("the seed decides the folds") {
  const std::vector<std::int64_t> labels(100, 1);
  CHECK(stratified_kfold(labels, {.seed = 1})[0].test ==
        stratified_kfold(labels, {.seed = 1})[0].test);
  CHECK(stratified_kfold(labels, {.seed = 1})[0].test !=
        stratified_kfold(labels, {.seed = 2})[0].test);

  const auto plain = stratified_kfold(labels, {.shuffle = false});
  CHECK(plain[0].test.front() == 0);
  CHECK(plain[0].test.back() == 19);
}

TEST_CASE("folds that cannot be made are refused with the numbers") {
  const std::vector<std::int64_t> labels{0, 0, 1, 1, 1};
  CHECK_THROWS_WITH_AS(stratified_kfold(labels, {.folds = 4}),
                       "[stratified_kfold] 4 folds need a class of at least as many samples, the "
                       "largest has 3",
                       headrace::ConfigError);
  CHECK_THROWS_AS(stratified_kfold(labels, {.folds = 1}), headrace::ConfigError);
  CHECK_THROWS_AS(stratified_kfold({}, {}), headrace::ConfigError);
}
