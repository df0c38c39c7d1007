#pragma once

#include <headrace/training/member_run.h>

#include "trainer_run.h"

#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <set>

// A recipe of two members and two stages, as small as the tests of whole runs need it.
namespace headrace::training {

template <typename Module>
std::unique_ptr<models::Network> fresh_network() {
  return std::make_unique<models::ModuleNetwork<Module>>(std::make_shared<Module>());
}

// Three classes of patterns, class weights in the loss, a threshold fitted on the validation.
class PatternCourse : public Course {
 public:
  PatternCourse(std::vector<Stage> stages, const Member& member)
      : stages_(std::move(stages)), member_(member) {}

  std::vector<Stage> stages() const override { return stages_; }
  std::unique_ptr<models::Network> network() const override { return fresh(); }
  Pipeline train(const Stage& stage, const Feed& feed) const override {
    return Pipeline::from(PatternSource(50, poisoned))
        .order(Shuffled{.seed = static_cast<std::uint64_t>(7 + member_.index)})
        .batch({.size = feed.batch})
        .to(feed.device)
        .named(stage.name);
  }
  bool evaluates(Split split) const override { return !without.contains(split); }
  Pipeline evaluation(Split split, const Feed& feed) const override {
    return Pipeline::from(PatternSource(split == Split::test ? 12 : 20))
        .batch({.size = feed.batch});
  }
  std::vector<Term> loss(const Output& output, const Example& example,
                         const Moment&) const override {
    const at::Tensor& target = only(example.targets, "target");
    const at::Tensor weights = at::tensor({1.0F, 2.0F, 6.0F});
    return {
        {.name = "classes",
         .value = models::cross_entropy(output.main, target, {.weights = {.of_classes = weights}}),
         .weight = weights.index_select(0, target).sum()},
        {.name = "size", .value = output.main.square().mean(), .factor = .01}};
  }
  std::unique_ptr<Metric> metric(Split split, const TensorMap& fitted) const override;
  Selection selected_by() const override { return selection; }

  Selection selection;
  std::set<Split> without;
  std::function<std::unique_ptr<models::Network>()> fresh;
  std::int64_t poisoned = -1;  // record of the training that is not finite

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
  std::optional<models::ConfusionMatrix> confusion() const override { return counts_.confusion(); }
  TensorMap fitted() const override {
    return {{"threshold", at::scalar_tensor(*threshold_, at::kDouble)}};
  }

 private:
  ClassificationMetric counts_;
  std::optional<double> threshold_;
  std::int64_t cases_ = 0;
};

inline std::unique_ptr<Metric> PatternCourse::metric(Split split, const TensorMap& fitted) const {
  if (split == Split::train) return std::make_unique<ClassificationMetric>(3);
  return std::make_unique<FittedMetric>(split, fitted);
}

// Two members over the same test.
class PatternRecipe : public Recipe {
 public:
  explicit PatternRecipe(std::vector<Stage> stages) : stages_(std::move(stages)) {}
  monitor::MemoryForecast plan() override { return {}; }
  std::uint64_t open() override { return 0; }
  std::vector<Member> members() const override {
    return {{.index = 0, .name = "a", .train = rows}, {.index = 1, .name = "b"}};
  }
  std::unique_ptr<Course> begin(const Member& member) const override {
    auto course = std::make_unique<PatternCourse>(stages_, member);
    course->without = without;
    course->selection = selected_by;
    course->fresh = fresh;
    course->poisoned = poisoned;
    return course;
  }
  std::map<std::string, std::string> notes() const override { return {{"task", task}}; }

  std::vector<std::int64_t> rows;
  std::string task = "patterns";
  Selection selected_by{.figure = "accuracy", .goal = Goal::maximum};
  std::set<Split> without;  // records that there are not
  std::function<std::unique_ptr<models::Network>()> fresh = fresh_network<StatefulModule>;
  std::int64_t poisoned = -1;

 private:
  std::vector<Stage> stages_;
};

inline std::vector<Stage> two_stages() {
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

inline MemberOptions in(const TemporaryFolder& folder) {
  return {.folder = folder.path() / "a", .seed = 3, .notes = {{"job", "test"}}};
}

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace headrace::training
