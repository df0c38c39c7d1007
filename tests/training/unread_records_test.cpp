// Records that cannot be read: to train on by the rule that was set, to judge left out and said.
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/subset.h>

#include "pattern_recipe.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

using namespace headrace::training;
using headrace::BadSamples;
using headrace::DataError;
using headrace::Pipeline;

namespace {

class TornSource final : public headrace::Source {
 public:
  TornSource(std::int64_t size, std::set<std::int64_t> torn)
      : whole_(size), torn_(std::move(torn)) {}
  std::string name() const override { return "patterns"; }
  std::int64_t size() const override { return whole_.size(); }
  headrace::Schema fields() const override { return whole_.fields(); }
  std::string origin(std::int64_t index) const override {
    return "dog/" + std::to_string(index) + ".png";
  }
  void read(std::int64_t index, headrace::Sample& sample) const override {
    if (torn_.contains(index)) throw DataError("the file is cut off");
    whole_.read(index, sample);
  }

 private:
  PatternSource whole_;
  std::set<std::int64_t> torn_;
};

struct TornCourse final : PatternCourse {
  using PatternCourse::PatternCourse;
  Pipeline train(const Stage&, const Feed& feed) const override {
    return Pipeline::from(TornSource(50, in_training)).batch({.size = feed.batch}).named("train");
  }
  Pipeline evaluation(Split split, const Feed& feed) const override {
    return Pipeline::from(TornSource(split == Split::test ? 12 : 20, {4, 9}))
        .batch({.size = feed.batch});
  }
  std::set<std::int64_t> in_training;
};

// Whose loss is a mean over the rows that are there.
struct JudgingCourse final : PatternCourse {
  using PatternCourse::PatternCourse;
  std::vector<Term> loss(const Output& output, const Example& example,
                         const Moment&) const override {
    const at::Tensor& target = only(example.targets, "target");
    const at::Tensor there =
        example.present.defined() ? example.present.to(at::kFloat) : at::Tensor();
    return {{.value = headrace::models::cross_entropy(output.main, target,
                                                      {.weights = {.of_samples = there}})}};
  }
};

struct TornRecipe final : PatternRecipe {
  explicit TornRecipe(std::set<std::int64_t> in_training)
      : PatternRecipe({{.epochs = 2, .batch = 8}}), torn(std::move(in_training)) {}
  std::unique_ptr<Course> begin(const Member& member) const override {
    auto course =
        std::make_unique<TornCourse>(std::vector<Stage>{{.epochs = 2, .batch = 8}}, member);
    course->fresh = fresh;
    course->selection = selected_by;
    course->in_training = torn;
    return course;
  }
  std::set<std::int64_t> torn;
};

const BadSamples left_out{.rule = BadSamples::Rule::shrink};

struct Trained {
  MemberResult result;
  std::vector<std::string> warnings;
  bool keeps_scores = false;
};

Trained train(const std::set<std::int64_t>& torn, const BadSamples& rule) {
  const TemporaryFolder folder;
  const TornRecipe recipe(torn);
  MemberOptions options = in(folder);
  options.bad_samples = rule;
  options.unread = left_out;
  Trained trained;
  MemberCallbacks callbacks{.trainer = {.on_warning = [&](const std::string& text) {
                              trained.warnings.push_back(text);
                            }}};
  trained.result = train_member(recipe, recipe.members().front(), options, callbacks);
  trained.keeps_scores = read_member_scores(options.folder).scores.defined();
  return trained;
}

}  // namespace

TEST_CASE("figures of an evaluation are of the records that could be read, and it says how many") {
  JudgingCourse course({}, {});
  const auto network = fresh_network<StatefulModule>();
  for (const std::int64_t batch : {1, 5, 7, 20}) {
    CAPTURE(batch);
    headrace::Loader torn = Pipeline::from(TornSource(20, {4, 9, 19}))
                                .on_bad_sample(left_out)
                                .batch({.size = batch})
                                .build();
    const Evaluation seen = *evaluate(course, *network, torn);
    std::vector<std::int64_t> rows;
    for (std::int64_t row = 0; row < 19; ++row)
      if (row != 4 && row != 9) rows.push_back(row);
    headrace::Loader others =
        Pipeline::from(headrace::Subset(
                           std::make_shared<const TornSource>(20, std::set<std::int64_t>{}), rows))
            .batch({.size = batch})
            .build();
    const Evaluation wanted = *evaluate(course, *network, others);
    CHECK(seen.samples == 17);
    CHECK(seen.unread.cases == 3);
    CHECK(seen.unread.words(seen.samples) ==
          "3 of 20 records could not be read, the first dog/4.png; figures are of the other 17");
    CHECK(wanted.unread.cases == 0);
    REQUIRE(seen.figures.size() == wanted.figures.size());
    for (std::size_t i = 0; i < seen.figures.size(); ++i) {
      CHECK(seen.figures[i].first == wanted.figures[i].first);
      if (seen.figures[i].first == "threshold") continue;  // it counts cases
      CHECK(seen.figures[i].second == doctest::Approx(wanted.figures[i].second));
    }
  }
}

TEST_CASE("rows that fill up a batch are not records that could not be read") {
  PatternCourse course({}, {});
  const auto network = fresh_network<StatefulModule>();
  headrace::Loader loader = Pipeline::from(TornSource(20, {17}))
                                .on_bad_sample(left_out)
                                .batch({.size = 8, .tail = headrace::Tail::pad})
                                .build();
  const Evaluation seen = *evaluate(course, *network, loader);
  CHECK(seen.samples == 19);
  CHECK(seen.unread.cases == 1);
  CHECK(seen.unread.first == "dog/17.png");
}

TEST_CASE("a member trains and is judged beside records that cannot be read") {
  const Trained trained = train({3, 30}, {.rule = BadSamples::Rule::replace});
  CHECK((trained.result.status == RunStatus::finished));
  CHECK(trained.result.refused.empty());
  CHECK_FALSE(trained.result.test.empty());
  CHECK_FALSE(trained.keeps_scores);  // what they are about is not the same for every member
  const auto said = [&](const std::string& words) {
    return std::ranges::count_if(trained.warnings, [&](const std::string& warning) {
      return warning.find(words) != std::string::npos;
    });
  };
  const std::string both = " could not be read, the first dog/4.png; figures are of the other ";
  CHECK(said("[trainer] validation of epoch 0: 2 of 20 records" + both + "18") == 1);
  CHECK(said("[trainer] validation of epoch 1: 2 of 20 records" + both + "18") == 1);
  CHECK(said("[recipe] test: 2 of 12 records" + both + "10") == 1);
}

TEST_CASE("records to train on end the run by the rule that was set") {
  CHECK_THROWS_WITH_AS(train({3}, {}), doctest::Contains("dog/3.png"), DataError);
  CHECK_THROWS_WITH_AS(train({3, 30}, {.rule = BadSamples::Rule::replace, .most = 1}),
                       doctest::Contains("at most 1 bad samples are allowed"),
                       headrace::PipelineError);
  CHECK((train({3, 30}, {.rule = BadSamples::Rule::shrink}).result.status == RunStatus::finished));
}
