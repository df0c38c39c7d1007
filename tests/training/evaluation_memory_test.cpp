// Where memory runs out in an evaluation: its rows go through in halves, and figures are those of a
// smaller evaluation batch.
#include <headrace/training/evaluation/evaluation.h>
#include <headrace/training/evaluation/inference.h>

#include "ladder_run.h"

#include <algorithm>
#include <new>
#include <optional>
#include <span>

using namespace headrace::training;
using headrace::test::above;
using headrace::test::nth;
using headrace::test::Refusal;
using headrace::test::tensors_made_by;

namespace {

constexpr std::int64_t records = 12;

headrace::Loader loader_of(std::int64_t batch) {
  return headrace::Pipeline::from(PatternSource(records)).batch({.size = batch}).build();
}

// A pass over the records: what came of it, case by case.
struct Pass {
  std::vector<double> figures = {};  // the loss is the first
  std::vector<at::Tensor> scores = {};
  std::vector<std::int64_t> records = {};  // that cases say they came from
  std::vector<std::int64_t> rows = {};     // at once, by the warnings
  std::vector<std::string> warnings = {};

  // Counts are left out: where memory runs out behind them they are of what was drawn before.
  bool same_draws(const Pass& other) const {
    return figures.front() == other.figures.front() && records == other.records &&
           at::equal(at::cat(scores), at::cat(other.scores));
  }
  bool operator==(const Pass& other) const { return same_draws(other) && figures == other.figures; }
};

class EvaluatedNetwork {
 public:
  explicit EvaluatedNetwork(bool draws = true)
      : course_(draws), network_(make_network<WideModule>(3)) {}

  std::function<void()> on_cases;  // when they have been looked at

  Pass pass(std::int64_t batch, const std::function<bool(std::uint64_t)>& refuses = {},
            std::int64_t rows = 0) {
    at::manual_seed(5);
    Pass pass;
    EvaluationOptions options{.origins = true, .rows = rows};
    options.on_cases = [&](const Cases& cases) {
      std::int64_t next = 0;
      for (const at::Tensor& one : pass.scores)
        next += one.size(0);
      CHECK(cases.first == next);
      pass.scores.push_back(cases.scores);
      for (const headrace::Origin& origin : cases.origins)
        pass.records.push_back(origin.index);
      if (on_cases) on_cases();
    };
    options.on_fewer_rows = [&](std::int64_t count, const std::string& warning) {
      pass.rows.push_back(count);
      pass.warnings.push_back(warning);
    };
    auto loader = loader_of(batch);
    std::optional<Refusal> refusal;
    if (refuses) refusal.emplace(refuses);
    const std::optional<Evaluation> evaluation = evaluate(course_, *network_, loader, options);
    refusal.reset();
    for (const auto& [name, value] : evaluation->figures)
      pass.figures.push_back(value);
    CHECK(evaluation->samples == records);
    return pass;
  }

 private:
  WideCourse course_;
  std::unique_ptr<headrace::models::Network> network_;
};

// Windows of two make a case, which may lie in two batches; a sum is kept between them.
class PairsInference final : public Inference {
 public:
  std::vector<Cases> add(Example example, const headrace::Batch&, const Predict& predict) override {
    const at::Tensor scores = predict(example).scores;
    std::vector<Cases> done;
    at::Tensor open = open_;
    for (std::int64_t row = 0; row < scores.size(0); ++row) {
      if (open.defined()) {
        Cases one{.scores = (open + scores[row]).unsqueeze(0)};
        one.example.rows = 1;
        one.example.targets.emplace("label", at::zeros({1}, at::kLong));
        done.push_back(std::move(one));
      }
      open = open.defined() ? at::Tensor() : scores[row];
    }
    open_ = open;
    return done;
  }

 private:
  at::Tensor open_;
};

class PairsCourse final : public Course {
 public:
  std::unique_ptr<headrace::models::Network> network() const override { return nullptr; }
  headrace::Pipeline train(const Stage&, const Feed&) const override {
    throw std::logic_error("none");
  }
  headrace::Pipeline evaluation(Split, const Feed&) const override {
    throw std::logic_error("none");
  }
  std::vector<Term> loss(const Output&, const Example&, const Moment&) const override {
    throw std::logic_error("cases without an output have no loss");
  }
  std::unique_ptr<Inference> inference(Split) const override {
    return std::make_unique<PairsInference>();
  }
  std::unique_ptr<Metric> metric(Split, const TensorMap&) const override {
    return std::make_unique<ClassificationMetric>(3);
  }
};

class VotedRecipe final : public Recipe {
 public:
  headrace::monitor::MemoryForecast plan() override { return {}; }
  std::uint64_t open() override { return 0; }
  std::unique_ptr<Course> begin(const Member&) const override {
    return std::make_unique<WideCourse>(true);
  }
  // Two ways to decide, of which the second may lack memory when the first has counted.
  std::vector<VoteMetric> metrics_of_vote(std::span<const TensorMap>) const override {
    std::vector<VoteMetric> all;
    for (const char* name : {"one", "other"})
      all.push_back({.name = name, .metric = std::make_unique<ClassificationMetric>(3)});
    return all;
  }
};

}  // namespace

TEST_CASE("whichever tensor of an evaluation is refused, its figures are of a smaller batch") {
  const OneThread one_thread;
  EvaluatedNetwork network;
  const Pass whole = network.pass(8);
  const Pass halved = network.pass(4);
  CHECK_FALSE(whole.same_draws(halved));  // the course draws by the batch
  std::int64_t count = 0;
  std::int64_t in_first = 0;
  network.on_cases = [&] { in_first = in_first == 0 ? count : in_first; };
  network.pass(8, [&](std::uint64_t) {
    ++count;
    return false;
  });
  CHECK(in_first > 20);
  for (std::int64_t n = 1; n <= in_first; ++n) {
    CAPTURE(n);
    const Pass pass = network.pass(8, nth(n));
    CHECK((pass.rows == std::vector<std::int64_t>{4}));
    CHECK(pass.same_draws(halved));
  }
}

TEST_CASE("a tensor that is refused in any batch or behind the last costs and doubles no case") {
  const OneThread one_thread;
  EvaluatedNetwork network(false);
  const Pass whole = network.pass(5);
  const std::int64_t count = tensors_made_by([&] { network.pass(5); });
  for (std::int64_t n = 1; n <= count; ++n) {
    CAPTURE(n);
    const Pass pass = network.pass(5, nth(n));
    CHECK(pass.records == whole.records);
    CHECK(at::allclose(at::cat(pass.scores), at::cat(whole.scores), 1e-5, 1e-6));
    REQUIRE(pass.figures.size() == whole.figures.size());
    CHECK(pass.figures[0] == doctest::Approx(whole.figures[0]));
    CHECK(std::ranges::equal(std::span(pass.figures).subspan(1),
                             std::span(whole.figures).subspan(1)));
  }
}

TEST_CASE("rows stay few behind the batch in which memory ran out, to the end of the pass") {
  const OneThread one_thread;
  EvaluatedNetwork network;
  const Pass pass = network.pass(8, above(60 * 1024));  // more than two rows of the activations
  CHECK((pass.rows == std::vector<std::int64_t>{4, 2}));
  CHECK((pass == network.pass(2)));
  CHECK((pass == network.pass(8, {}, 2)));
  CHECK_FALSE((pass == network.pass(4)));
  REQUIRE(pass.warnings.size() == 2);
  for (const char* words :
       {"[memory] the validation ran out: [memory] a tensor of the CPU of 221184 bytes was refused",
        "; free ", "; reserved but unused 0 B; most is held by ",
        "; it goes on with 4 rows at once; to begin so, set training.evaluation_batch=4"})
    CHECK_MESSAGE(pass.warnings.front().find(words) != std::string::npos, pass.warnings.front());
}

TEST_CASE("batches of odd size are cut within their ends") {
  const OneThread one_thread;
  EvaluatedNetwork network(false);
  const Pass whole = network.pass(7);
  const Pass pass = network.pass(7, above(60 * 1024));
  CHECK((pass.rows == std::vector<std::int64_t>{4, 2}));
  CHECK(pass.records == whole.records);
  CHECK(at::allclose(at::cat(pass.scores), at::cat(whole.scores), 1e-5, 1e-6));
  CHECK(
      std::ranges::equal(std::span(pass.figures).subspan(1), std::span(whole.figures).subspan(1)));
}

TEST_CASE("one row too much ends the pass and says so") {
  const OneThread one_thread;
  EvaluatedNetwork network;
  CHECK_THROWS_WITH_AS(network.pass(8, above(20 * 1024)),
                       doctest::Contains("[memory] the validation ran out: "),
                       headrace::ResourceError);
  CHECK_THROWS_WITH_AS(network.pass(8, above(20 * 1024)),
                       doctest::Contains("; one row at once is too much: take smaller inputs"),
                       headrace::ResourceError);
}

TEST_CASE("who looks at cases and finds no memory is not shown them twice") {
  const OneThread one_thread;
  const auto network = make_network<WideModule>(3);
  const WideCourse course(true);
  auto loader = loader_of(8);
  int shown = 0;
  EvaluationOptions options;
  options.on_cases = [&](const Cases&) {
    ++shown;
    throw std::bad_alloc();
  };
  CHECK_THROWS_WITH_AS(evaluate(course, *network, loader, options),
                       doctest::Contains("in what is made of the cases of the validation"),
                       headrace::ResourceError);
  CHECK(shown == 1);
}

TEST_CASE("windows are put together once, whichever tensor is refused") {
  const OneThread one_thread;
  const auto network = make_network<WideModule>(3);
  const PairsCourse course;
  const auto pass = [&](const std::function<bool(std::uint64_t)>& refuses) {
    std::vector<at::Tensor> scores;
    std::int64_t samples = 0;
    auto loader = loader_of(5);
    EvaluationOptions options;
    options.on_cases = [&](const Cases& cases) { scores.push_back(cases.scores); };
    {
      std::optional<Refusal> refusal;
      if (refuses) refusal.emplace(refuses);
      samples = evaluate(course, *network, loader, options)->samples;
    }
    CHECK(samples == records / 2);
    return at::cat(scores);
  };
  const at::Tensor whole = pass({});
  const std::int64_t count = tensors_made_by([&] { pass({}); });
  for (std::int64_t n = 1; n <= count; ++n) {
    CAPTURE(n);
    const at::Tensor scores = pass(nth(n));
    REQUIRE(scores.sizes() == whole.sizes());
    CHECK(at::allclose(scores, whole, 1e-5, 1e-6));
  }
}

TEST_CASE("several members are asked again together") {
  const OneThread one_thread;
  const auto first = make_network<WideModule>(3);
  const auto second = make_network<WideModule>(4);
  const VotedRecipe recipe;
  const auto pass = [&](bool draws, std::int64_t batch,
                        const std::function<bool(std::uint64_t)>& refuses) {
    const WideCourse course(draws);
    const std::vector<Voter> voters{{.course = course, .network = *first, .member = 0},
                                    {.course = course, .network = *second, .member = 1}};
    at::manual_seed(2);
    auto loader = loader_of(batch);
    std::vector<at::Tensor> scores;
    EvaluationOptions options{.split = Split::test};
    options.on_cases = [&](const Cases& cases) { scores.push_back(cases.scores); };
    std::optional<Refusal> refusal;
    if (refuses) refusal.emplace(refuses);
    const auto both = evaluate_together(recipe, voters, loader, options);
    refusal.reset();
    std::vector<double> figures{at::cat(scores).sum(at::kDouble).item<double>()};
    CHECK(both->samples == records);
    REQUIRE(both->votes.size() == 2);
    for (const VoteFigures& vote : both->votes)
      CHECK(vote.confusion->total() == records);
    for (const Figures& some : {both->members[0].figures, both->members[1].figures,
                                both->votes[0].figures, both->votes[1].figures})
      for (const auto& [name, value] : some)
        figures.push_back(value);
    return figures;
  };
  const auto quarters = pass(true, 2, {});
  CHECK((pass(true, 8, above(60 * 1024)) == quarters));
  CHECK_FALSE((pass(true, 8, {}) == quarters));

  const auto whole = pass(false, 5, {});
  const std::int64_t count = tensors_made_by([&] { pass(false, 5, {}); });
  for (std::int64_t n = 1; n <= count; ++n) {
    CAPTURE(n);
    const auto cut = pass(false, 5, nth(n));
    REQUIRE(cut.size() == whole.size());
    for (std::size_t i = 0; i < cut.size(); ++i)
      CHECK(cut[i] == doctest::Approx(whole[i]).epsilon(1e-6));
  }
}
