#include <headrace/training/evaluation/vote.h>

#include "pattern_recipe.h"

#include <new>

#include <ATen/ops/argmax.h>
#include <ATen/ops/stack.h>

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

Cases cases_of(const at::Tensor& scores, const at::Tensor& label) {
  return {.scores = scores, .example = {.targets = {{"label", label}}}};
}

// How often the largest score is that of the first class.
class FirstClass final : public Metric {
 public:
  void add(const Cases& cases) override {
    first_ += (at::argmax(cases.scores, 1) == 0).sum().item<double>();
    pairs_ += cases.output.extra.at("pairs").sum().item<double>();
  }
  Figures result() override { return {{"first", first_}, {"pairs", pairs_}}; }

 private:
  double first_ = 0.0;
  double pairs_ = 0.0;
};

// Three networks that each know two of three classes; a validation may have found how much one is
// to be believed.
class PairsRecipe final : public Recipe {
 public:
  headrace::monitor::MemoryForecast plan() override { return {}; }
  std::uint64_t open() override { return 0; }
  std::unique_ptr<Course> begin(const Member&) const override { return nullptr; }
  Cases vote(std::span<const Cases> of_members, std::span<const TensorMap> fitted) const override {
    Cases voted = of_members.front();
    voted.scores = at::zeros({voted.scores.size(0), 3});
    voted.output = {};
    std::vector<at::Tensor> of_pairs;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto found = fitted[i].find("belief");
      const double belief = found == fitted[i].end() ? 1.0 : found->second.item<double>();
      voted.scores.select(1, pairs[i].first) += of_members[i].scores.select(1, 0) * belief;
      voted.scores.select(1, pairs[i].second) += of_members[i].scores.select(1, 1) * belief;
      of_pairs.push_back(of_members[i].scores.select(1, 1));
    }
    voted.output.extra.emplace("pairs", at::stack(of_pairs, 1));
    return voted;
  }
  std::vector<VoteMetric> metrics_of_vote(std::span<const TensorMap> fitted) const override {
    std::vector<VoteMetric> all(2);
    all[0] = {.name = "sum", .metric = metric_of_vote(fitted)};
    all[1] = {.name = "first", .metric = std::make_unique<FirstClass>()};
    return all;
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
  const auto accuracy = [&](const std::vector<MemberScores>& members) {
    const std::vector<VoteFigures> votes = vote_on_test(recipe, members);
    REQUIRE(votes.size() == 1);
    CHECK(votes.front().name.empty());
    CHECK(votes.front().confusion->total() == 2);
    return figure(votes.front().figures, "accuracy");
  };
  CHECK(accuracy({a}) == .5);
  CHECK(accuracy({b}) == .5);
  CHECK(accuracy({a, b}) == 1.0);
  MemberScores elsewhere = b;
  elsewhere.records = elsewhere.records + 7;  // folds whose labels happen to be the same
  CHECK(vote_on_test(recipe, {a, elsewhere}).empty());
  CHECK(vote_on_test(recipe, {a, {}}).empty());
  CHECK(vote_on_test(recipe, {a, scores({.9F, .1F, .0F}, {0})}).empty());

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
  const std::vector<VoteFigures> votes = vote_on_test(PairsRecipe(), {zero_one, zero_two, one_two});
  REQUIRE(votes.size() == 2);
  CHECK(votes[0].name == "sum");
  CHECK(figure(votes[0].figures, "accuracy") == 1.0);
  CHECK(figure(votes[0].figures, "macro_f1") == 1.0);  // all three classes count
  REQUIRE(votes[0].confusion.has_value());
  for (std::int64_t label = 0; label < 3; ++label)
    CHECK(votes[0].confusion->at(label, label) == 1);
  CHECK(votes[1].name == "first");
  CHECK_FALSE(votes[1].confusion.has_value());
  CHECK(figure(votes[1].figures, "first") == 1.0);
  // What the vote has left in its output reaches the metrics.
  CHECK(figure(votes[1].figures, "pairs") ==
        doctest::Approx(.1 + .8 + .5 + .2 + .5 + .7 + .5 + .3 + .9));
}

TEST_CASE("a vote knows what the validation of each member has fitted") {
  MemberScores zero_one = scores({.1F, .9F}, {1});
  MemberScores zero_two = scores({1.0F, .0F}, {1});
  MemberScores one_two = scores({.05F, .95F}, {1});
  const auto accuracy = [&] {
    return figure(vote_on_test(PairsRecipe(), {zero_one, zero_two, one_two}).front().figures,
                  "accuracy");
  };
  CHECK(accuracy() == 0.0);  // 1.1, 0.95, 0.95
  zero_two.fitted["belief"] = at::scalar_tensor(.5);
  one_two.fitted["belief"] = at::scalar_tensor(.5);
  CHECK(accuracy() == 1.0);  // 0.6, 0.925, 0.475
}

TEST_CASE("rows that count with one member count in the vote, not those of the first alone") {
  std::vector<Cases> members(3, cases_of(at::rand({4, 2}), at::tensor({0, 1, 2, 0}, at::kLong)));
  const std::vector<TensorMap> fitted(3);
  const std::vector<std::vector<int>> known{{1, 1, 0, 0}, {1, 0, 1, 0}, {0, 1, 1, 0}};
  for (std::size_t i = 0; i < 3; ++i) {
    members[i].example.present = at::tensor(known[i]).to(at::kBool);
    members[i].example.rows = 2;
  }
  const Cases voted = vote_of(PairsRecipe(), members, fitted);
  CHECK(counted_rows(voted.example) == 3);
}

TEST_CASE("votes that come again after a lack of memory count once, whole or in parts") {
  class Fails final : public Metric {
   public:
    explicit Fails(int& left) : left_(left) {}
    void add(const Cases& cases) override {
      if (left_-- > 0) throw std::bad_alloc();
      counts_.add(cases);
    }
    Figures result() override { return counts_.result(); }
    std::optional<headrace::models::ConfusionMatrix> confusion() const override {
      return counts_.confusion();
    }

   private:
    int& left_;
    ClassificationMetric counts_{3};
  };
  int left = 1;
  std::vector<VoteMetric> metrics(2);
  metrics[0] = {.name = "whole", .metric = std::make_unique<ClassificationMetric>(3)};
  metrics[1] = {.name = "in parts", .metric = std::make_unique<Fails>(left)};
  VoteCounts counts(std::move(metrics));
  const at::Tensor all = at::rand({4, 3});
  const at::Tensor labels = at::tensor({0, 1, 2, 0}, at::kLong);
  CHECK_THROWS_AS(counts.add(cases_of(all, labels), 0), std::bad_alloc);
  counts.add(cases_of(all.slice(0, 0, 2), labels.slice(0, 0, 2)), 0);
  counts.add(cases_of(all.slice(0, 2), labels.slice(0, 2)), 2);
  counts.add(cases_of(all, labels), 4);
  const std::vector<VoteFigures> votes = counts.result();
  REQUIRE(votes.size() == 2);
  for (const VoteFigures& vote : votes)
    CHECK(vote.confusion->total() == 8);
  CHECK((votes[0].figures == votes[1].figures));
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
  Cases first = cases_of(at::rand({2, 3}), label);
  first.example.present = at::tensor({1, 0}, at::kLong).to(at::kBool);
  first.example.targets.emplace("of the batch", at::rand({5}));
  keeper.add(first);
  keeper.add(cases_of(at::rand({1, 3}), at::tensor({2}, at::kLong)));
  const MemberScores all = keeper.result();
  CHECK(at::equal(all.present, at::tensor({1, 0, 1}, at::kLong).to(at::kBool)));
  CHECK(at::equal(all.targets.at("label"), at::tensor({1, 0, 2}, at::kLong)));
  CHECK(all.targets.size() == 1);
  keeper.add(cases_of(at::rand({1, 4}), at::tensor({2}, at::kLong)));
  CHECK_FALSE(keeper.result().scores.defined());
  keeper.add(cases_of(at::rand({1, 3}), at::tensor({2}, at::kLong)));
  CHECK_FALSE(keeper.result().scores.defined());

  // A tensor of the batch that has by chance as many values as the batch has rows.
  ScoreKeeper by_chance;
  first.example.targets.at("of the batch") = at::rand({2});
  by_chance.add(first);
  by_chance.add(cases_of(at::rand({1, 3}), at::tensor({2}, at::kLong)));
  CHECK(by_chance.result().targets.size() == 1);
  CHECK(by_chance.result().scores.size(0) == 3);

  ScoreKeeper without;
  without.add({.example = {.targets = {{"label", label}}}});
  CHECK_FALSE(without.result().scores.defined());
}

TEST_CASE("members look at a test together where it is the same for all, and give no reasons") {
  const PatternRecipe recipe(std::vector<Stage>(1));
  const Member a{.index = 0, .name = "a", .test = {3, 4}};
  const Member b{.index = 1, .name = "b", .test = {3, 4}};
  const Member other{.index = 2, .name = "c", .test = {3, 5}};
  CHECK((recipe.common_test(std::vector{a, b}) == std::vector<std::int64_t>{3, 4}));
  CHECK((recipe.common_test(std::vector{other}) == std::vector<std::int64_t>{3, 5}));
  CHECK_FALSE(recipe.common_test(std::vector{a, other}).has_value());
  CHECK_FALSE(recipe.common_test({}).has_value());
  CHECK(recipe.reasons({}).empty());
}
