#include <headrace/training/vote.h>

#include "pattern_recipe.h"

using namespace headrace::training;

namespace {

MemberScores scores(std::vector<float> values, std::vector<std::int64_t> labels = {0, 2}) {
  const auto rows = static_cast<std::int64_t>(labels.size());
  return {.scores = at::tensor(values).view({rows, -1}),
          .present = at::ones({rows}, at::kBool),
          .records = at::arange(2 * rows, at::kLong).view({rows, 2}),
          .targets = {{"label", at::tensor(labels, at::kLong)}},
          .fitted = {{"threshold", at::scalar_tensor(5.0)}}};
}

Cases cases(const at::Tensor& scores, const at::Tensor& label) {
  return {.scores = scores, .example = {.targets = {{"label", label}}}};
}

// Three networks that each know two of three classes.
class Pairs final : public Recipe {
 public:
  headrace::monitor::MemoryForecast plan() override { return {}; }
  std::uint64_t open() override { return 0; }
  std::unique_ptr<Course> begin(const Member&) const override { return nullptr; }
  Cases vote(std::span<const Cases> of_members) const override {
    Cases voted = of_members.front();
    voted.scores = at::zeros({voted.scores.size(0), 3});
    for (std::size_t i = 0; i < 3; ++i) {
      voted.scores.select(1, pairs[i].first) += of_members[i].scores.select(1, 0);
      voted.scores.select(1, pairs[i].second) += of_members[i].scores.select(1, 1);
    }
    return voted;
  }
  std::unique_ptr<Metric> metric_of_vote(std::span<const TensorMap>) const override {
    return std::make_unique<ClassificationMetric>(3);
  }

 private:
  static constexpr std::pair<int, int> pairs[3] = {{0, 1}, {0, 2}, {1, 2}};
};

}  // namespace

TEST_CASE("members vote with the mean of their scores, and only about the same records") {
  const PatternRecipe recipe(std::vector<Stage>(1));
  const MemberScores a = scores({.9F, .1F, .0F, .6F, .0F, .4F});
  const MemberScores b = scores({.2F, .8F, .0F, .1F, .0F, .9F});
  CHECK(figure(*vote_on_test(recipe, {a}), "accuracy") == .5);
  CHECK(figure(*vote_on_test(recipe, {b}), "accuracy") == .5);
  CHECK(figure(*vote_on_test(recipe, {a, b}), "accuracy") == 1.0);
  MemberScores elsewhere = b;
  elsewhere.records = elsewhere.records + 7;  // folds whose labels happen to be the same
  CHECK_FALSE(vote_on_test(recipe, {a, elsewhere}).has_value());
  CHECK_FALSE(vote_on_test(recipe, {a, {}}).has_value());
  CHECK_FALSE(vote_on_test(recipe, {a, scores({.9F, .1F, .0F}, {0})}).has_value());

  const TemporaryFolder folder;
  write_member_scores(folder.path(), a);
  const MemberScores read = read_member_scores(folder.path());
  CHECK(at::equal(read.scores, a.scores));
  CHECK(at::equal(read.present, a.present));
  CHECK(at::equal(read.records, a.records));
  CHECK(at::equal(read.targets.at("label"), a.targets.at("label")));
  CHECK(read.fitted.contains("threshold"));
}

TEST_CASE("members that each judge two classes vote about all of them by the recipe's own metric") {
  // Cases of class 0, 1 and 2; each member counts the cases of its own classes alone.
  MemberScores zero_one = scores({.9F, .1F, .2F, .8F, .5F, .5F}, {0, 1, 2});
  MemberScores zero_two = scores({.8F, .2F, .5F, .5F, .3F, .7F}, {0, 1, 2});
  MemberScores one_two = scores({.5F, .5F, .7F, .3F, .1F, .9F}, {0, 1, 2});
  zero_one.present[2] = false;
  zero_two.present[1] = false;
  one_two.present[0] = false;
  // What each learns of a case is another number.
  zero_one.targets["pair"] = at::tensor({0, 1, 0}, at::kLong);
  zero_two.targets["pair"] = at::tensor({0, 0, 1}, at::kLong);
  one_two.targets["pair"] = at::tensor({0, 0, 1}, at::kLong);
  const Figures voted = *vote_on_test(Pairs(), {zero_one, zero_two, one_two});
  CHECK(figure(voted, "accuracy") == 1.0);
  CHECK(figure(voted, "macro_f1") == 1.0);  // all three classes count
}

TEST_CASE("kept scores hold no batch, however many there are, and know where they came from") {
  const auto network = make_network<StatefulModule>(4);
  const PatternCourse course(std::vector<Stage>(1), {});
  auto loader = headrace::Pipeline::from(PatternSource(50))
                    .batch({.size = 3, .tail = headrace::Tail::pad})
                    .build({.prefetch = 1});
  ScoreKeeper keeper;
  evaluate(course, *network, loader,
           {.origins = true, .on_cases = [&](const Cases& cases) { keeper.add(cases); }});
  const MemberScores all = keeper.result();
  CHECK(all.scores.size(0) == 51);
  CHECK(all.present.sum().item<std::int64_t>() == 50);
  CHECK(at::equal(all.records.slice(0, 0, 50).select(1, 0), at::arange(50)));
}

TEST_CASE("scores are kept with all rows and who counts, and not at all where shapes differ") {
  ScoreKeeper keeper;
  const at::Tensor label = at::tensor({1, 0}, at::kLong);
  Cases first = cases(at::rand({2, 3}), label);
  first.example.present = at::tensor({1, 0}, at::kLong).to(at::kBool);
  first.example.targets.emplace("of the batch", at::rand({5}));
  keeper.add(first);
  keeper.add(cases(at::rand({1, 3}), at::tensor({2}, at::kLong)));
  const MemberScores all = keeper.result();
  CHECK(at::equal(all.present, at::tensor({1, 0, 1}, at::kLong).to(at::kBool)));
  CHECK(at::equal(all.targets.at("label"), at::tensor({1, 0, 2}, at::kLong)));
  CHECK(all.targets.size() == 1);
  keeper.add(cases(at::rand({1, 4}), at::tensor({2}, at::kLong)));
  CHECK_FALSE(keeper.result().scores.defined());
  keeper.add(cases(at::rand({1, 3}), at::tensor({2}, at::kLong)));
  CHECK_FALSE(keeper.result().scores.defined());

  // A tensor of the batch that has by chance as many values as the batch has rows.
  ScoreKeeper by_chance;
  first.example.targets.at("of the batch") = at::rand({2});
  by_chance.add(first);
  by_chance.add(cases(at::rand({1, 3}), at::tensor({2}, at::kLong)));
  CHECK(by_chance.result().targets.size() == 1);
  CHECK(by_chance.result().scores.size(0) == 3);

  ScoreKeeper without;
  without.add({.example = {.targets = {{"label", label}}}});
  CHECK_FALSE(without.result().scores.defined());
}
