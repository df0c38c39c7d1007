#include <headrace/training/evaluation/evaluation.h>
#include <headrace/training/evaluation/vote.h>
#include <headrace/training/metrics/label_metrics.h>

#include "pattern_recipe.h"

#include <cmath>

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

// Tells classes 0 and 1 apart, or two that no record is of; sees all records.
class OfPair final : public Course {
 public:
  OfPair(bool known, bool judged) : known_(known), judged_(judged) {}

  std::unique_ptr<headrace::models::Network> network() const override { return nullptr; }
  headrace::Pipeline train(const Stage&, const Feed&) const override {
    throw std::logic_error("none");
  }
  headrace::Pipeline evaluation(Split, const Feed& feed) const override {
    return headrace::Pipeline::from(PatternSource(9)).batch({.size = feed.batch});
  }
  Example example(const headrace::Batch& batch, const Moment& moment) const override {
    Example example = example_of_fields(batch, moment.device);
    const at::Tensor& label = only(example.targets, "target");
    example.present = known_ ? label < 2 : label < 0;
    example.rows.reset();
    return example;
  }
  std::vector<Term> loss(const Output& output, const Example& example,
                         const Moment&) const override {
    const at::Tensor present = example.present.to(at::kFloat);
    if (counted_rows(example) == 0) throw std::logic_error("a mean over nothing");
    return {{.value = (output.main.square().mean(1) * present).sum() / present.sum()}};
  }
  std::unique_ptr<Metric> metric(Split, const TensorMap& fitted) const override {
    if (!judged_) return nullptr;
    return std::make_unique<SingleLabelMetric>(
        SingleLabelOptions{.classes = 2, .areas = true, .fit_threshold = true}, fitted);
  }

 private:
  bool known_;
  bool judged_;
};

class OnePair final : public Recipe {
 public:
  OnePair(bool known, bool judged) : known_(known), judged_(judged) {}
  headrace::monitor::MemoryForecast plan() override { return {}; }
  std::uint64_t open() override { return 0; }
  std::unique_ptr<Course> begin(const Member&) const override {
    return std::make_unique<OfPair>(known_, judged_);
  }

 private:
  bool known_;
  bool judged_;
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
  CHECK(together->samples == 12);
  const std::vector<VoteFigures> of_kept = vote_on_test(two.recipe, kept);
  REQUIRE(together->votes.size() == 1);
  REQUIRE(of_kept.size() == 1);
  CHECK((together->votes.front().figures == of_kept.front().figures));
  CHECK(together->votes.front().confusion->total() == 12);
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
  CHECK(alone->votes.empty());
  CHECK(alone->samples == 12);
  std::stop_source stop;
  stop.request_stop();
  auto stopped = two.loader();
  CHECK_FALSE(
      evaluate_together(two.recipe, two.voters, stopped, of_test, stop.get_token()).has_value());
}

TEST_CASE("a network that no row of a batch, or of any, belongs to has no loss that is no number") {
  for (const auto& [known, judged] : {std::pair(true, true), {false, true}, {false, false}}) {
    CAPTURE(known);
    CAPTURE(judged);
    const std::int64_t counted = known ? 6 : 0;
    const auto network = make_network<StatefulModule>(4);
    const OnePair recipe(known, judged);
    const OfPair course(known, judged);
    const Voter voter{.course = course, .network = *network};
    const std::vector<Voter> voters{voter, voter};
    auto loader = course.evaluation(Split::test, {.batch = 2}).build();  // 0 1, 2 0, 1 2, 0 1, 2
    const auto together = evaluate_together(recipe, voters, loader, of_test);
    const Evaluation& one = together->members.front();
    CHECK(one.samples == counted);
    CHECK(together->samples == counted);
    if (judged) CHECK(one.confusion->total() == counted);
    if (judged) CHECK(together->votes.front().confusion->total() == counted);
    CHECK(std::isfinite(one["loss"]) == known);
    for (const auto& [name, value] : one.figures) {
      if (known) CHECK_MESSAGE(std::isfinite(value), name);
      CHECK((known || name != "loss"));
    }
  }
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
