#include <headrace/training/member_run.h>
#include <headrace/training/vote.h>

#include "trainer_run.h"

#include <fstream>
#include <iterator>

using namespace headrace::training;
using doctest::Approx;

namespace {

using headrace::Pipeline;
using headrace::test::TemporaryFolder;

// Three classes of patterns, class weights in the loss, a threshold fitted on the validation.
class PatternCourse final : public Course {
 public:
  PatternCourse(std::vector<Stage> stages, const Member& member)
      : stages_(std::move(stages)), member_(member) {}

  std::vector<Stage> stages() const override { return stages_; }
  std::unique_ptr<headrace::models::Network> network() const override {
    return std::make_unique<headrace::models::ModuleNetwork<StatefulModule>>(
        std::make_shared<StatefulModule>());
  }
  Pipeline train(const Stage& stage, const Feed& feed) const override {
    return Pipeline::from(PatternSource(50))
        .order(headrace::Shuffled{.seed = static_cast<std::uint64_t>(7 + member_.index)})
        .batch({.size = feed.batch})
        .to(feed.device)
        .named(stage.name);
  }
  Pipeline evaluation(Split split, const Feed& feed) const override {
    return Pipeline::from(PatternSource(split == Split::test ? 12 : 20))
        .batch({.size = feed.batch});
  }
  std::vector<Term> loss(const Output& output, const Example& example,
                         const Moment&) const override {
    const at::Tensor& target = only(example.targets, "target");
    const at::Tensor weights = at::tensor({1.0F, 2.0F, 6.0F});
    return {{.name = "classes",
             .value = headrace::models::cross_entropy(output.main, target,
                                                      {.weights = {.of_classes = weights}}),
             .weight = weights.index_select(0, target).sum()},
            {.name = "size", .value = output.main.square().mean(), .factor = .01}};
  }
  std::unique_ptr<Metric> metric(Split split, const TensorMap& fitted) const override;
  Selection selected_by() const override { return {.figure = "accuracy", .goal = Goal::maximum}; }

 private:
  std::vector<Stage> stages_;
  Member member_;
};

// Accuracy, and a threshold: of the validation the number of its cases, of the test what it is
// given.
class FittedMetric final : public Metric {
 public:
  FittedMetric(Split split, const TensorMap& fitted) : counts_(3) {
    if (split == Split::test) threshold_ = fitted.at("threshold").item<double>();
  }
  void add(const Cases& cases) override {
    counts_.add(cases);
    cases_ += cases.scores.size(0);
  }
  Figures result() override {
    Figures figures = counts_.result();
    if (!threshold_) threshold_ = static_cast<double>(cases_);
    figures.emplace_back("threshold", *threshold_);
    return figures;
  }
  TensorMap fitted() const override {
    return {{"threshold", at::scalar_tensor(*threshold_, at::kDouble)}};
  }

 private:
  ClassificationMetric counts_;
  std::optional<double> threshold_;
  std::int64_t cases_ = 0;
};

std::unique_ptr<Metric> PatternCourse::metric(Split split, const TensorMap& fitted) const {
  if (split == Split::train) return std::make_unique<ClassificationMetric>(3);
  return std::make_unique<FittedMetric>(split, fitted);
}

class PatternRecipe final : public Recipe {
 public:
  explicit PatternRecipe(std::vector<Stage> stages) : stages_(std::move(stages)) {}
  headrace::monitor::MemoryForecast plan() override { return {}; }
  void open() override {}
  std::vector<Member> members() const override {
    return {{.index = 0, .name = "a"}, {.index = 1, .name = "b"}};
  }
  std::unique_ptr<Course> begin(const Member& member) const override {
    return std::make_unique<PatternCourse>(stages_, member);
  }
  std::map<std::string, std::string> notes() const override { return {{"task", "patterns"}}; }

 private:
  std::vector<Stage> stages_;
};

std::vector<Stage> two_stages() {
  return {{.name = "first", .epochs = 2, .batch = 8, .evaluation_batch = 7},
          {.name = "second",
           .epochs = 2,
           .batch = 16,
           .accumulation = 2,
           .optimizer = {.learning_rate = 5e-4},
           .frozen = {"conv"},
           .schedule = CosineRate{.warmup_epochs = 1},
           .start = StartFrom::best}};
}

MemberOptions in(const TemporaryFolder& folder) {
  return {.folder = folder.path() / "a", .seed = 3, .notes = {{"job", "test"}}};
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a member goes through its stages and is tested with what its validation fitted") {
  const PatternRecipe recipe(two_stages());
  const TemporaryFolder folder;
  std::vector<std::string> stages;
  MemberCallbacks callbacks;
  callbacks.on_stage = [&](const StageStart& start) {
    stages.push_back(start.stage.name + " " + std::to_string(start.number) + "/" +
                     std::to_string(start.stages));
  };
  const Member member = recipe.members().front();
  const MemberResult result = train_member(recipe, member, in(folder), callbacks);
  CHECK((result.status == RunStatus::finished));
  CHECK((stages == std::vector<std::string>{"first 0/2", "second 1/2"}));
  CHECK(result.selected_by == "accuracy");
  CHECK(figure(result.validation, "threshold") == 20.0);
  CHECK(figure(result.test, "threshold") == 20.0);
  CHECK(figure(result.test, "loss_classes") > 0.0);

  const BestWeights best = read_best_weights(folder.path() / "a/best.safetensors");
  CHECK(best.notes.at("task") == "patterns");
  CHECK(best.notes.at("job") == "test");
  CHECK(best.fitted.at("threshold").item<double>() == 20.0);
  // The second stage began with these, and did not train the convolution.
  CheckpointStore store(folder.path() / "a");
  const Checkpoint last = *store.load_latest();
  CHECK(last.progress.stage == 1);
  CHECK_FALSE(last.optimizer.contains("conv.weight.exp_avg"));
}

TEST_CASE("a member stopped in any stage and gone on with ends with the same files") {
  const OneThread one_thread;
  const PatternRecipe recipe(two_stages());
  const Member member = recipe.members().front();
  const TemporaryFolder whole;
  train_member(recipe, member, in(whole));
  for (const std::int64_t last : {1, 7, 14, 15, 16}) {
    CAPTURE(last);
    const TemporaryFolder folder;
    std::stop_source stop;
    std::int64_t steps = 0;
    MemberCallbacks callbacks;
    callbacks.trainer.on_step = [&](const StepReport&) {
      if (++steps == last) stop.request_stop();
    };
    at::manual_seed(99);
    const MemberResult cut = train_member(recipe, member, in(folder), callbacks, stop.get_token());
    CHECK((cut.status == RunStatus::interrupted));
    at::manual_seed(98);
    train_member(recipe, member, in(folder));
    CheckpointStore a(whole.path() / "a");
    CheckpointStore b(folder.path() / "a");
    CHECK(bytes_of(a.list().front()).size() > 0);
    CHECK((a.load_latest()->progress == b.load_latest()->progress));
    CHECK(bytes_of(a.best_path()) == bytes_of(b.best_path()));
    CHECK(bytes_of(a.folder() / "test-scores.safetensors") ==
          bytes_of(b.folder() / "test-scores.safetensors"));
  }
}

TEST_CASE("a checkpoint of another stage, member or number of records is refused") {
  const PatternRecipe recipe(two_stages());
  const TemporaryFolder folder;
  train_member(recipe, recipe.members()[0], in(folder));
  CHECK_THROWS_AS(train_member(recipe, recipe.members()[1], in(folder)), CheckpointError);
  std::vector<Stage> other = two_stages();
  other[1].name = "another";
  CHECK_THROWS_AS(train_member(PatternRecipe(other), recipe.members()[0], in(folder)),
                  CheckpointError);

  const TemporaryFolder elsewhere;
  MemberOptions options = in(elsewhere);
  options.identity = {{"training.learning_rate", "0.1"}};
  train_member(recipe, recipe.members()[0], options);
  options.identity = {{"training.learning_rate", "0.2"}};
  CHECK_THROWS_AS(train_member(recipe, recipe.members()[0], options), CheckpointError);
}

TEST_CASE("a class-weighted validation loss does not depend on the batch size") {
  const auto network = make_network<StatefulModule>(4);
  const PatternCourse course(std::vector<Stage>(1), {});
  std::vector<Evaluation> found;
  for (const std::int64_t batch : {1, 3, 20}) {
    auto loader = Pipeline::from(PatternSource(20)).batch({.size = batch}).build();
    found.push_back(*evaluate(course, *network, loader));
  }
  for (const Evaluation& evaluation : found) {
    CHECK(evaluation["loss_classes"] == Approx(found[0]["loss_classes"]).epsilon(1e-6));
    CHECK(evaluation["loss_size"] == Approx(found[0]["loss_size"]).epsilon(1e-6));
    CHECK(evaluation["loss"] ==
          Approx(evaluation["loss_classes"] + .01 * evaluation["loss_size"]).epsilon(1e-9));
  }
}

TEST_CASE("members vote with the mean of their scores, and only about the same records") {
  const PatternRecipe recipe(std::vector<Stage>(1));
  const auto course = recipe.begin({});
  const auto scores = [](std::vector<float> values) {
    return MemberScores{.scores = at::tensor(values).view({2, 3}),
                        .targets = {{"label", at::tensor({0, 2}, at::kLong)}},
                        .fitted = {{"threshold", at::scalar_tensor(5.0)}}};
  };
  const MemberScores a = scores({.9F, .1F, .0F, .6F, .0F, .4F});
  const MemberScores b = scores({.2F, .8F, .0F, .1F, .0F, .9F});
  CHECK(figure(*vote_on_test(recipe, *course, {a}), "accuracy") == .5);
  CHECK(figure(*vote_on_test(recipe, *course, {b}), "accuracy") == .5);
  CHECK(figure(*vote_on_test(recipe, *course, {a, b}), "accuracy") == 1.0);
  MemberScores elsewhere = b;
  elsewhere.targets["label"] = at::tensor({0, 1}, at::kLong);
  CHECK_FALSE(vote_on_test(recipe, *course, {a, elsewhere}).has_value());
  CHECK_FALSE(vote_on_test(recipe, *course, {a, {}}).has_value());

  const TemporaryFolder folder;
  write_member_scores(folder.path(), a);
  const MemberScores read = read_member_scores(folder.path());
  CHECK(at::equal(read.scores, a.scores));
  CHECK(at::equal(read.targets.at("label"), a.targets.at("label")));
  CHECK(read.fitted.contains("threshold"));
}

TEST_CASE("predictions over flips are the mean of both, and the plain ones of one") {
  const auto predict = [](const Example& example) {
    const at::Tensor first = only(example.inputs, "input").select(1, 0).unsqueeze(1);
    return Prediction{.output = {.main = first}, .scores = first};
  };
  const Example example{.inputs = {{"x", at::tensor({1.0F, 2.0F, 3.0F, 4.0F}).view({2, 2})}}};
  PlainInference plain;
  FlipInference flips({1});
  CHECK(at::equal(plain.add(example, predict)->scores, at::tensor({1.0F, 3.0F}).view({2, 1})));
  CHECK(at::equal(flips.add(example, predict)->scores, at::tensor({1.5F, 3.5F}).view({2, 1})));
}
