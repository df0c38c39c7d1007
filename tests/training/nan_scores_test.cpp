// A network that gives NaN: it is not selected, not reported, and its vote does not count.
#include <headrace/training/evaluation/vote.h>
#include <headrace/training/metrics/label_metrics.h>
#include <headrace/training/metrics/segmentation_metric.h>

#include "pattern_recipe.h"

#include <functional>
#include <memory>
#include <vector>

using namespace headrace::training;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t bad_record = 9;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// One record of a part is no number, and so is what the network says of it.
struct PoisonedCourse final : PatternCourse {
  using PatternCourse::PatternCourse;
  headrace::Pipeline evaluation(Split split, const Feed& feed) const override {
    return headrace::Pipeline::from(PatternSource(split == Split::test ? 12 : 20,
                                                  split == bad ? bad_record : std::int64_t{-1}))
        .batch({.size = feed.batch});
  }
  Split bad = Split::validation;
};

struct PoisonedRecipe final : PatternRecipe {
  explicit PoisonedRecipe(Split split) : PatternRecipe({{.epochs = 2, .batch = 8}}), bad(split) {}
  std::unique_ptr<Course> begin(const Member& member) const override {
    auto course =
        std::make_unique<PoisonedCourse>(std::vector<Stage>{{.epochs = 2, .batch = 8}}, member);
    course->fresh = fresh;
    course->selection = selected_by;
    course->bad = bad;
    return course;
  }
  Split bad;
};

using Made = std::function<std::unique_ptr<Metric>()>;

// Judges 12 rows of 3 scores by that metric, of which row `bad` is NaN; below 0: none.
Evaluation judged(const Made& metric, const TensorMap& targets, std::int64_t bad) {
  struct Judging final : PatternCourse {
    using PatternCourse::PatternCourse;
    std::unique_ptr<Metric> metric(Split, const TensorMap&) const override { return made(); }
    headrace::Pipeline evaluation(Split, const Feed& feed) const override {
      return headrace::Pipeline::from(PatternSource(12, row)).batch({.size = feed.batch});
    }
    Example example(const headrace::Batch& batch, const Moment& moment) const override {
      Example all = PatternCourse::example(batch, moment);
      const std::int64_t first = batch.origins().front().index;
      all.targets.clear();
      for (const auto& [name, rows] : whole)
        all.targets.emplace(name, rows.narrow(0, first, batch.size()));
      return all;
    }
    std::vector<Term> loss(const Output& output, const Example&, const Moment&) const override {
      return {{.value = output.main.sum()}};
    }
    Made made;
    TensorMap whole;
    std::int64_t row = -1;
  };
  Judging course({}, {});
  course.made = metric;
  course.whole = targets;
  course.row = bad;
  const auto network = fresh_network<StatefulModule>();
  headrace::Loader loader = course.evaluation(Split::validation, {.batch = 5}).build();
  return *evaluate(course, *network, loader);
}

MemberScores scores_of(std::int64_t member, std::vector<float> values) {
  return {.member = member,
          .scores = at::tensor(values, at::kFloat).view({-1, 2}),
          .present = at::ones({2}, at::kBool),
          .targets = {{"label", at::tensor({0, 1}, at::kLong)}}};
}

}  // namespace

TEST_CASE("no metric gives a number once it has seen a NaN, whatever the others are") {
  const at::Tensor classes = at::arange(12, at::kLong).remainder(3);
  const at::Tensor flags = at::one_hot(classes, 3).to(at::kFloat);
  struct Known {
    const char* name;
    Made made;
    TensorMap targets;
    const char* figure;
  };
  const std::vector<Known> all{
      {"classification",
       [] { return std::make_unique<ClassificationMetric>(3); },
       {{"label", classes}},
       "accuracy"},
      {"single label",
       [] { return std::make_unique<SingleLabelMetric>(SingleLabelOptions{.classes = 3}); },
       {{"label", classes}},
       "balanced_accuracy"},
      {"several labels",
       [] {
         return std::make_unique<MultiLabelMetric>(
             MultiLabelOptions{.labels = 3, .fit_thresholds = true});
       },
       {{"labels", flags}},
       "micro_f1"},
      {"pixels",
       [] {
         return std::make_unique<SegmentationMetric>(
             SegmentationOptions{.classes = {"a", "b", "c"}});
       },
       {{"mask", classes}},
       "pixel_accuracy"},
      {"masks",
       [] {
         return std::make_unique<BinarySegmentationMetric>(
             BinarySegmentationOptions{.masks = {"a", "b", "c"}, .fit_thresholds = true});
       },
       {{"mask", flags}},
       "pixel_accuracy"}};
  for (const Known& one : all) {
    CAPTURE(one.name);
    const Evaluation right = judged(one.made, one.targets, -1);
    CHECK_FALSE(std::isnan(right[one.figure]));
    CHECK(right.no_numbers.cases == 0);
    const Evaluation wrong = judged(one.made, one.targets, bad_record);
    CHECK(std::isnan(wrong[one.figure]));
    CHECK(wrong.figures.size() == right.figures.size());
    CHECK(wrong.fitted.empty());
    CHECK_FALSE(wrong.confusion.has_value());
    CHECK(wrong.no_numbers.cases == 1);
    CHECK(contains(wrong.no_numbers.first, "9"));
  }
}

TEST_CASE("cases with a NaN are counted where they are, absent ones are not, infinities are none") {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{4}, {4, 3}, {4, 3, 2, 5}, {4, 2, 3, 2, 2}}) {
    for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16}) {
      at::Tensor scores = at::zeros(shape, type);
      scores[0].fill_(std::numeric_limits<double>::infinity());
      NanCases found;
      found.add({.scores = scores});
      CHECK(found.count() == 0);
      scores[1].flatten()[0] = not_a_number;
      scores[3].flatten()[0] = not_a_number;
      const at::Tensor present = at::tensor({1, 0, 1, 1}, at::kLong).to(at::kBool);
      found.add({.scores = scores, .example = {.present = present}, .first = 4});
      CHECK(found.count() == 1);
      CHECK(found.first() == 7);
      NanCases again(false);
      again.restore(found.state());
      again.add({.output = {.main = scores}, .first = 8});
      CHECK(again.count() == 3);
    }
  }
  NanCases nothing;
  nothing.add({});
  nothing.add({.scores = at::zeros({0, 3})});
  CHECK(nothing.count() == 0);
}

TEST_CASE("a member whose validations are no numbers has no best weights and is refused") {
  for (const char* figure : {"accuracy", "loss"}) {
    CAPTURE(figure);
    const TemporaryFolder folder;
    PoisonedRecipe recipe(Split::validation);
    if (figure == std::string("loss")) recipe.selected_by = {};
    std::vector<std::string> warnings;
    MemberCallbacks callbacks;
    callbacks.trainer.on_warning = [&](const std::string& text) { warnings.push_back(text); };
    const MemberResult result = train_member(recipe, recipe.members()[0], in(folder), callbacks);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "a" / "best.safetensors"));
    CHECK(result.best_epoch == -1);
    CHECK(result.test.empty());
    REQUIRE(warnings.size() == 2);  // one an epoch
    CHECK(
        contains(warnings[0], "validation of epoch 0: the network gives NaN for 1 of 20 records"));
    CHECK(contains(warnings[0], "9"));
    CHECK(contains(result.refused, std::string("no evaluation had a number for ") + figure));
    // Resumed it comes to the same.
    const MemberResult again = train_member(recipe, recipe.members()[0], in(folder), callbacks);
    CHECK(again.refused == result.refused);
  }
}

TEST_CASE("a test that is no number names its first record, and is kept for no vote") {
  const TemporaryFolder folder;
  const PoisonedRecipe recipe(Split::test);
  const MemberResult result = train_member(recipe, recipe.members()[0], in(folder));
  CHECK(std::isnan(figure(result.test, "accuracy")));
  CHECK_FALSE(std::isnan(figure(result.validation, "accuracy")));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "a" / "test-scores.safetensors"));
  CHECK(std::filesystem::exists(folder.path() / "a" / "best.safetensors"));
  CHECK(contains(result.refused, "test: the network gives NaN for 1 of 12 records, the first"));
}

TEST_CASE("nothing is voted with a member that gives no numbers") {
  const std::vector<MemberScores> right{scores_of(0, {.9F, .1F, .2F, .8F}),
                                        scores_of(1, {.8F, .2F, .3F, .7F})};
  struct TwoClasses final : PatternRecipe {
    using PatternRecipe::PatternRecipe;
    std::unique_ptr<Metric> metric_of_vote(std::span<const TensorMap>) const override {
      return std::make_unique<ClassificationMetric>(2);
    }
  };
  const TwoClasses two({Stage{}});
  REQUIRE(vote_on_test(two, right).size() == 1);
  CHECK(figure(vote_on_test(two, right)[0].figures, "accuracy") == 1.0);
  CHECK(
      vote_on_test(two, {right[0], scores_of(1, {.8F, .2F, static_cast<float>(not_a_number), .7F})})
          .empty());

  // Scores of a vote that are no numbers: none of its figures is.
  std::vector<VoteMetric> metrics;
  metrics.push_back({.metric = std::make_unique<ClassificationMetric>(2)});
  VoteCounts counts(std::move(metrics));
  const Cases voted{.scores = at::full({2, 2}, not_a_number),
                    .example = {.targets = {{"label", at::tensor({0, 1}, at::kLong)}}}};
  counts.add(voted, 0);
  const std::vector<VoteFigures> votes = counts.result();
  CHECK(std::isnan(figure(votes[0].figures, "accuracy")));
  CHECK(votes[0].nan == 2);
  CHECK_FALSE(votes[0].confusion.has_value());
}

TEST_CASE(
    "members that look together: the figures of one that gives no numbers are none, no vote") {
  const PoisonedRecipe recipe(Split::test);
  const std::vector<Member> members = recipe.members();
  const auto first = recipe.begin(members[0]);
  const auto second = recipe.begin(members[1]);
  const auto one = fresh_network<StatefulModule>();
  const auto other = fresh_network<StatefulModule>();
  const TensorMap fitted{{"threshold", at::scalar_tensor(1.0, at::kDouble)}};
  const std::vector<Voter> voters{
      {.course = *first, .network = *one, .member = 0, .fitted = fitted},
      {.course = *second, .network = *other, .member = 1, .fitted = fitted}};
  headrace::Loader loader = first->evaluation(Split::test, {.batch = 5}).build();
  const auto evaluation = evaluate_together(recipe, voters, loader, {.split = Split::test});
  REQUIRE(evaluation.has_value());
  CHECK(evaluation->votes.empty());
  CHECK(std::isnan(evaluation->members[1]["accuracy"]));
  CHECK(evaluation->members[1].no_numbers.words(12).starts_with("NaN for 1 of 12 records"));
}

TEST_CASE("what is not defined is told apart from what a network does not say") {
  Setup setup = epochs(2);
  setup.course.metric = [](Split split) -> std::unique_ptr<Metric> {
    struct Undefined final : Metric {
      void add(const Cases&) override {}
      Figures result() override { return {{"auc", not_a_number}}; }
    };
    if (split == Split::train) return nullptr;
    return std::make_unique<Undefined>();
  };
  setup.course.selected_by = {.figure = "auc", .goal = Goal::maximum};
  std::vector<std::string> warnings;
  Run run(setup, {.on_warning = [&](const std::string& text) { warnings.push_back(text); }});
  run.trainer.run();
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[1] ==
        "[trainer] validation of epoch 1: auc is not defined over these records, as where a class "
        "is missing, and counts as no improvement");
}

TEST_CASE("a loss of the validation that is not finite is said once an epoch and selects nothing") {
  Setup setup = epochs(2);
  setup.course.loss = [](const at::Tensor& logits, const at::Tensor& target,
                         const at::Tensor& present) {
    const at::Tensor loss = loss_of_rows(logits, target, present);
    return logits.requires_grad() ? loss : loss + std::numeric_limits<double>::infinity();
  };
  std::vector<std::string> warnings;
  Run run(setup, {.on_warning = [&](const std::string& text) { warnings.push_back(text); }});
  CHECK(run.trainer.run().best_epoch == -1);
  REQUIRE(warnings.size() == 2);
  CHECK(contains(warnings[0], "the loss must be finite, got inf, and counts as no improvement"));
}

TEST_CASE("the figures of training are no numbers in an epoch that saw a NaN, also when resumed") {
  Setup setup = three_epochs();
  setup.stage.epochs = 1;
  setup.poisoned = 33;
  std::vector<EpochReport> reports;
  const TrainerCallbacks callbacks{
      .on_epoch = [&](const EpochReport& report) { reports.push_back(report); }};
  Run(setup, callbacks).trainer.run();
  REQUIRE(reports.size() == 1);
  CHECK(std::isnan(figure(reports[0].train, "accuracy")));
  CHECK_FALSE(std::isnan(figure(reports[0].train, "loss")));
  CHECK_FALSE(std::isnan(reports[0].metric));

  std::stop_source stop;
  std::int64_t steps = 0;
  Run first(setup, {.on_step = [&](const StepReport&) {
              if (++steps == 6) stop.request_stop();  // of seven
            }});
  CHECK((first.trainer.run(stop.get_token()).status == RunStatus::interrupted));
  Run second(setup, callbacks);
  second.trainer.restore(first.trainer.checkpoint());
  second.trainer.run();
  CHECK(std::isnan(figure(reports.back().train, "accuracy")));
}
