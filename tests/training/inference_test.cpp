#include <headrace/training/evaluation/evaluation.h>
#include <headrace/training/evaluation/inference.h>

#include "pattern_recipe.h"

using namespace headrace::training;

namespace {

Example first_of_two() {
  return {.inputs = {{"x", at::tensor({1.0F, 2.0F, 3.0F, 4.0F}).view({2, 2})}}};
}

Prediction first_column(const Example& example) {
  const at::Tensor first = only(example.inputs, "input").select(1, 0).unsqueeze(1);
  return {.output = {.main = first}, .scores = first};
}

// Two windows make a case, wherever batches end.
class Halves final : public Inference {
 public:
  std::vector<Cases> add(Example example, const headrace::Batch& batch,
                         const Predict& predict) override {
    const at::Tensor scores = predict(example).scores;
    const std::vector<headrace::Origin> origins = batch.origins();
    std::vector<Cases> done;
    for (std::int64_t row = 0; row < scores.size(0); ++row) {
      const bool second = origins[static_cast<std::size_t>(row)].index % 2 == 1;
      if (second) done.push_back(close(scores[row]));
      if (!second) open_ = scores[row];
    }
    return done;
  }
  std::vector<Cases> finish() override {
    if (!open_.defined()) return {};
    return {close(open_)};
  }

 private:
  Cases close(const at::Tensor& last) {
    Cases one{.scores = ((open_ + last) / 2).unsqueeze(0)};
    one.example.rows = 1;
    one.example.targets.emplace("label", at::zeros({1}, at::kLong));
    open_ = at::Tensor();
    return one;
  }

  at::Tensor open_;
};

class WindowCourse final : public Course {
 public:
  std::unique_ptr<headrace::models::Network> network() const override { return nullptr; }
  headrace::Pipeline train(const Stage&, const Feed&) const override {
    throw std::logic_error("none");
  }
  headrace::Pipeline evaluation(Split, const Feed& feed) const override {
    return headrace::Pipeline::from(PatternSource(11)).batch({.size = feed.batch});
  }
  std::vector<Term> loss(const Output&, const Example&, const Moment&) const override {
    throw std::logic_error("cases without an output have no loss");
  }
  std::unique_ptr<Inference> inference(Split) const override { return std::make_unique<Halves>(); }
  std::unique_ptr<Metric> metric(Split, const TensorMap&) const override {
    return std::make_unique<ClassificationMetric>(3);
  }
};

// Two heads and a loss made inside; no one answer.
struct TwoHeads : torch::nn::Module {
  TwoHeads() : linear(register_module("linear", torch::nn::Linear(108, 2))) {}
  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& input) {
    const at::Tensor both = linear(input.flatten(1));
    return {both.select(1, 0), both.select(1, 1)};
  }
  torch::nn::Linear linear;
};

class HeadsCourse final : public Course {
 public:
  std::unique_ptr<headrace::models::Network> network() const override {
    return std::make_unique<headrace::models::ModuleNetwork<TwoHeads>>(
        std::make_shared<TwoHeads>());
  }
  headrace::Pipeline train(const Stage&, const Feed& feed) const override {
    return headrace::Pipeline::from(PatternSource(16)).batch({.size = feed.batch});
  }
  headrace::Pipeline evaluation(Split, const Feed& feed) const override { return train({}, feed); }
  Output forward(headrace::models::Network& network, const Example& example,
                 const Moment&) const override {
    const auto heads =
        headrace::models::of_module<TwoHeads>(network).forward(only(example.inputs, "input"));
    return {.extra = {{"a", heads.first}, {"b", heads.second}},
            .losses = {{"balance", (heads.first - heads.second).square().mean()}}};
  }
  std::vector<Term> loss(const Output& output, const Example&, const Moment&) const override {
    return {{.name = "size", .value = output.extra.at("a").square().mean()}};
  }
  std::unique_ptr<Metric> metric(Split, const TensorMap&) const override { return nullptr; }
};

}  // namespace

TEST_CASE("predictions over flips are the mean of both, and the plain ones of one") {
  PlainInference plain;
  FlipInference flips({1});
  CHECK(at::equal(plain.add(first_of_two(), {}, first_column).front().scores,
                  at::tensor({1.0F, 3.0F}).view({2, 1})));
  CHECK(at::equal(flips.add(first_of_two(), {}, first_column).front().scores,
                  at::tensor({1.5F, 3.5F}).view({2, 1})));
  const auto nothing = [](const Example&) { return Prediction{}; };
  CHECK_THROWS_AS(flips.add(first_of_two(), {}, nothing), headrace::ConfigError);
}

TEST_CASE("scores of pixels are flipped back before they are put together") {
  const auto same = [](const Example& example) {
    return Prediction{.scores = only(example.inputs, "input")};
  };
  const at::Tensor input = at::tensor({1.0F, 2.0F, 3.0F}).view({1, 3});
  const Example example{.inputs = {{"image", input}}};
  FlipInference turned({1}, /*scores_turn=*/true);
  FlipInference plain({1});
  CHECK(at::equal(turned.add(example, {}, same).front().scores, input));
  CHECK(at::equal(plain.add(example, {}, same).front().scores, at::full({1, 3}, 2.0F)));
}

TEST_CASE("figures are of what is predicted, flips and all") {
  ClassificationMetric metric(2);
  const at::Tensor label = at::zeros({1}, at::kLong);
  metric.add({.scores = at::tensor({.6F, .4F}).view({1, 2}),
              .output = {.main = at::tensor({.1F, .9F}).view({1, 2})},
              .example = {.targets = {{"label", label}}}});
  CHECK(figure(metric.result(), "accuracy") == 1.0);
}

TEST_CASE("windows become whole cases whatever the batch, the last one included") {
  const auto network = make_network<StatefulModule>(4);
  const WindowCourse course;
  std::vector<at::Tensor> found;
  for (const std::int64_t batch : {1, 3, 4, 11}) {
    auto loader = course.evaluation(Split::test, {.batch = batch}).build();
    std::vector<at::Tensor> all;
    std::int64_t first = 0;
    const auto evaluation =
        evaluate(course, *network, loader,
                 {.split = Split::test, .origins = true, .on_cases = [&](const Cases& cases) {
                    CHECK(cases.first == first);
                    CHECK(cases.origins.empty());
                    first += case_count(cases);
                    all.push_back(cases.scores);
                  }});
    CHECK(evaluation->samples == 6);
    CHECK(std::isnan((*evaluation)["loss"]));
    found.push_back(at::cat(all));
  }
  for (const at::Tensor& scores : found)
    CHECK(at::allclose(scores, found.front(), 1e-5, 1e-6));
}

TEST_CASE("a network of several heads and no main output is trained and evaluated") {
  const HeadsCourse course;
  Stage stage{.epochs = 2, .batch = 4};
  const auto network = course.network();
  Optimizer optimizer(network->parameters(), {.learning_rate = .01});
  auto train = course.train(stage, {.batch = 4}).build();
  auto validation = course.evaluation(Split::validation, {.batch = 4}).build();
  std::vector<double> losses;
  TrainerCallbacks callbacks;
  callbacks.on_epoch = [&](const EpochReport& report) {
    losses.push_back((*report.validation)["loss"]);
    CHECK(figure(report.train, "loss_balance") > 0.0);
  };
  Trainer({.course = course,
           .stage = stage,
           .network = *network,
           .optimizer = optimizer,
           .train = train,
           .validation = &validation},
          {}, callbacks)
      .run();
  CHECK(losses.size() == 2);
  CHECK(losses[1] < losses[0]);
  CHECK_THROWS_AS(network->forward(at::rand({1, 108})), headrace::ConfigError);
  CHECK_THROWS_AS(headrace::models::of_module<StatefulModule>(*network), headrace::ConfigError);
}
