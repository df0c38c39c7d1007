#include <headrace/apps/jobs/retinopathy/pair_metric_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/temperature.h>
#include <headrace/tests/apps/retinopathy/pairs_of_grades.h>

#include "../../support/torch_doctest.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

using namespace headrace;

namespace {

// Three grades of pictures, and the recipe of their three pairs.
struct Grades : test::PairsOfGrades {
  explicit Grades(const std::vector<std::string>& settings = {}) : PairsOfGrades(3, 8, settings) {}
};

training::Cases says(std::int64_t member, const std::vector<float>& second,
                     const std::vector<std::int64_t>& grades) {
  const at::Tensor p = at::tensor(second).unsqueeze(1);
  return {.scores = at::cat({1.0 - p, p}, 1),
          .example = {.targets = {{app::grade_target, at::tensor(grades, at::kLong)}}},
          .member = member};
}

training::TensorMap chosen(double accuracy, double temperature) {
  return {{"accuracy", at::scalar_tensor(accuracy, at::kDouble)},
          {"temperature", at::scalar_tensor(temperature, at::kDouble)}};
}

const std::vector<training::TensorMap> plain{chosen(.9, 1), chosen(.8, 1), chosen(.6, 1)};

std::vector<training::Cases> three() {
  return {says(0, {.7F, .4F}, {1, 1}), says(1, {.4F, .4F}, {1, 1}), says(2, {.45F, .6F}, {1, 1})};
}

}  // namespace

TEST_CASE("a member for each pair has the records of its two classes, and of no other") {
  const Grades grades;
  const std::vector<training::Member> members = grades.recipe().members();
  REQUIRE(members.size() == 3);
  CHECK(members[0].name == "pair-0-1");
  CHECK(members[2].name == "pair-1-2");
  CHECK(members[2].index == 2);
  // 8, 6 and 4 records of the grades, listed class by class.
  CHECK(members[0].train.size() == 14);
  CHECK(members[1].train.size() == 12);
  CHECK(members[2].train.size() == 10);
  CHECK(members[1].train.back() == 17);
  CHECK(std::ranges::find(members[1].train, 8) == members[1].train.end());
  CHECK(members[0].validation.size() == 14);
  CHECK(members[0].test.size() == 14);
}

TEST_CASE("the whole test is looked at once all pairs are done, and not before") {
  const Grades grades;
  std::vector<training::Member> done = grades.recipe().members();
  REQUIRE(grades.recipe().common_test(done).has_value());
  CHECK(grades.recipe().common_test(done)->size() == 18);
  done.pop_back();
  CHECK_FALSE(grades.recipe().common_test(done).has_value());
}

TEST_CASE("three pairs vote as the scheme of the configuration says, and the reasons are theirs") {
  const Grades grades;
  const training::Cases voted = grades.recipe().vote(three(), plain);
  CHECK(voted.scores[0][0].item<float>() == doctest::Approx(.264190262456099));
  CHECK(voted.scores[0][1].item<float>() == doctest::Approx(.456318036752598));
  const std::vector<training::Reason> reasons = grades.recipe().reasons(voted);
  REQUIRE(reasons.size() == 4);
  CHECK(reasons[0].name == "p_1_over_0");
  CHECK(reasons[0].values[0].item<float>() == doctest::Approx(.7));
  CHECK(reasons[3].name == "margin");
  CHECK(reasons[3].values[0].item<float>() == doctest::Approx(.456318036752598 - .279491700791303));
}

TEST_CASE("each scheme has figures and counts of its own, that of the configuration first") {
  const Grades grades({"vote.by=hard"});
  const training::Cases voted = grades.recipe().vote(three(), plain);
  std::vector<training::VoteMetric> metrics = grades.recipe().metrics_of_vote(plain);
  REQUIRE(metrics.size() == 5);
  CHECK(metrics[0].name == "hard");
  std::set<std::string> names;
  for (training::VoteMetric& one : metrics) {
    names.insert(one.name);
    training::Cases counted = voted;
    one.metric->add(counted);
    const training::Figures figures = one.metric->result();
    CHECK(one.metric->confusion()->total() == 2);
    CHECK(std::isfinite(training::figure(figures, "accuracy")));
  }
  CHECK(names.size() == 5);
  // Of the second case 0 beats 1 and 2, so class 1 is right once.
  CHECK(training::figure(metrics[0].metric->result(), "accuracy") == .5);
}

TEST_CASE("a temperature moves the pair's probability, unless the vote is not calibrated") {
  const std::vector<training::TensorMap> hot{chosen(.9, 4), chosen(.8, 1), chosen(.6, 1)};
  const auto first = [&](const Grades& grades) {
    const training::Cases voted = grades.recipe().vote(three(), hot);
    return voted.output.extra.at(app::pairs_of_vote)[0][0].item<double>();
  };
  CHECK(first(Grades()) == doctest::Approx(models::tempered(.7, 4)).epsilon(1e-6));
  CHECK(first(Grades({"vote.calibrate=false"})) == doctest::Approx(.7).epsilon(1e-6));
}

TEST_CASE("where classes tie the one that the rule prefers is the larger") {
  const Grades grades({"vote.by=hard", "vote.calibrate=false"});
  // A circle in which every class wins once; the sums of class 2 are the largest.
  const std::vector<training::Cases> circle{says(0, {.4F}, {0}), says(1, {.9F}, {0}),
                                            says(2, {.45F}, {0})};
  const training::Cases voted = grades.recipe().vote(circle, plain);
  CHECK(at::equal(grades.recipe().predicted(voted.scores, plain), at::tensor({2}, at::kLong)));
  CHECK(voted.scores[0][2].item<float>() == doctest::Approx(1.0 / 3));
}

TEST_CASE(
    "of a case of which a pair gives no number the vote says nothing, of the others it does") {
  const Grades grades({"vote.calibrate=false"});
  std::vector<training::Cases> all = three();
  const training::Cases right = grades.recipe().vote(all, plain);
  all[1].scores[0].fill_(std::numeric_limits<float>::quiet_NaN());
  const training::Cases voted = grades.recipe().vote(all, plain);
  CHECK(voted.scores[0].isnan().all().item<bool>());
  CHECK(at::equal(voted.scores[1], right.scores[1]));
  for (training::VoteMetric& way : grades.recipe().metrics_of_vote(plain))
    CHECK_NOTHROW(way.metric->add(voted));
}

TEST_CASE("what cannot vote is known before the first pair is trained") {
  CHECK_THROWS_WITH_AS(Grades({"vote.boosts=[1, 1]"}),
                       doctest::Contains("vote.boosts must have a value for each of 3"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(Grades({"vote.class_weights=[1, 1, 1, 2]"}),
                       doctest::Contains("vote.class_weights"), ConfigError);
  CHECK_THROWS_WITH_AS(Grades({"training.batch=1", "model.hidden=[4]", "model.dropout=[0]"}),
                       doctest::Contains("at least 2 with model.hidden"), ConfigError);
}

TEST_CASE("some of the pairs have no figures of a vote") {
  const Grades grades;
  CHECK(grades.recipe().metrics_of_vote({plain.data(), 2}).empty());
}

TEST_CASE("a vote without one of the pairs is refused by its name") {
  const Grades grades;
  const std::vector<training::Cases> all = three();
  CHECK_THROWS_WITH_AS(grades.recipe().vote({all.data(), 2}, {plain.data(), 2}),
                       doctest::Contains("pair-1-2 is missing"), ConfigError);
}

TEST_CASE("two classes are no ensemble, and a pair must have as many records as a batch") {
  CHECK_THROWS_WITH_AS(Grades({"training.batch=11"}), doctest::Contains("of pair-1-2, 10, got 11"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(Grades({"loss=[cross_entropy]"}), doctest::Contains("loss must be bce"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(Grades({"predict.threshold=fitted"}), doctest::Contains("predict.threshold"),
                       ConfigError);
  CHECK_NOTHROW(Grades({"training.batch=11", "data.epoch_size=22"}));
}

TEST_CASE("one network for all classes is the task's") {
  const Grades grades({"method=multi_class", "loss=[cross_entropy]"});
  REQUIRE(grades.recipe().members().size() == 1);
  CHECK(grades.recipe().members().front().train.size() == 18);
}
