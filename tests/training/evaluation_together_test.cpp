#include <headrace/training/evaluation.h>
#include <headrace/training/vote.h>

#include "pattern_recipe.h"

#include <ATen/ops/rand.h>

using namespace headrace::training;

namespace {

// Two networks of a recipe whose members judge the same test.
class Two {
 public:
  Two() {
    for (const Member& member : recipe.members()) {
      at::manual_seed(static_cast<std::uint64_t>(5 + member.index));
      courses.push_back(recipe.begin(member));
      networks.push_back(courses.back()->network());
      voters.push_back({.course = *courses.back(),
                        .network = *networks.back(),
                        .member = member.index,
                        .fitted = fitted});
    }
  }

  headrace::Loader loader() const {
    return courses.front()->evaluation(Split::test, {.batch = 5}).build({.prefetch = 1});
  }

  const TensorMap fitted{{"threshold", at::scalar_tensor(7.0)}};
  const PatternRecipe recipe{std::vector<Stage>(1)};
  std::vector<std::unique_ptr<Course>> courses;
  std::vector<std::unique_ptr<headrace::models::Network>> networks;
  std::vector<Voter> voters;
};

const EvaluationOptions of_test{.split = Split::test, .seed = 3, .origins = true};

}  // namespace

TEST_CASE(
    "members that look at data together come to what each comes to alone, and to their vote") {
  const OneThread one_thread;
  Two two;
  std::vector<MemberScores> kept;
  std::vector<Evaluation> alone;
  for (const Voter& voter : two.voters) {
    ScoreKeeper keeper;
    EvaluationOptions options = of_test;
    options.fitted = voter.fitted;
    options.on_cases = [&](const Cases& cases) { keeper.add(cases); };
    auto loader = two.loader();
    alone.push_back(*evaluate(voter.course, voter.network, loader, options));
    kept.push_back(keeper.result());
    kept.back().fitted = voter.fitted;
  }
  EvaluationOptions options = of_test;
  std::vector<at::Tensor> scores;
  options.on_cases = [&](const Cases& cases) { scores.push_back(cases.scores); };
  auto loader = two.loader();
  const auto together = evaluate_together(two.recipe, two.voters, loader, options);
  REQUIRE(together->members.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK((together->members[i].figures == alone[i].figures));
    CHECK(together->members[i].samples == 12);
    REQUIRE(together->members[i].confusion.has_value());
  }
  CHECK((together->vote == vote_on_test(two.recipe, kept)));
  const at::Tensor mean = (kept[0].scores + kept[1].scores) / 2;
  CHECK(at::equal(at::cat(scores), mean));

  scores.clear();
  auto again = two.loader();
  CHECK(predict_together(two.recipe, two.voters, again, options));
  CHECK(at::equal(at::cat(scores), mean));
}

TEST_CASE("one member has no vote, and a stop ends the pass") {
  Two two;
  auto loader = two.loader();
  const auto alone = evaluate_together(two.recipe, {two.voters.data(), 1}, loader, of_test);
  CHECK_FALSE(alone->vote.has_value());
  std::stop_source stop;
  stop.request_stop();
  auto stopped = two.loader();
  CHECK_FALSE(
      evaluate_together(two.recipe, two.voters, stopped, of_test, stop.get_token()).has_value());
}

TEST_CASE("scores of pixels are not kept, and thresholds of several members are their mean") {
  ScoreKeeper keeper;
  keeper.add({.scores = at::rand({2, 3, 4, 4})});
  CHECK_FALSE(keeper.result().scores.defined());

  const std::vector<TensorMap> fitted{
      {{"threshold", at::scalar_tensor(0.2)}}, {{"threshold", at::scalar_tensor(0.6)}}, {}};
  CHECK(mean_of(fitted).at("threshold").item<double>() == doctest::Approx(0.4));
  CHECK(mean_of({}).empty());
}
