// Windows of volumes become whole volumes, whatever the batches.
#include <headrace/tests/support/skip.h>
#include <headrace/training/evaluation/window_inference.h>

#include "../support/torch_gpu.h"
#include "ladder_run.h"
#include "window_data.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::training;
using headrace::BadSamples;
using headrace::Batch;
using headrace::ConfigError;
using headrace::DataError;
using headrace::Loader;
using headrace::NextBatch;
using headrace::Pipeline;
using headrace::Source;
using headrace::Tail;
using headrace::test::defined_scores;
using headrace::test::network;
using headrace::test::nth;
using headrace::test::patch;
using headrace::test::Refusal;
using headrace::test::tensors_made_by;
using headrace::test::WindowData;
namespace models = headrace::models;

namespace {

Prediction predict(const Example& example) {
  return {.scores = network(only(example.inputs, "input"))};
}

// What came of all batches.
std::vector<Cases> pass(const std::shared_ptr<WindowData>& data, std::int64_t batch,
                        const WindowInferenceOptions& options, at::Device device = at::kCPU) {
  WindowInference inference(data->windows, options);
  Loader loader = Pipeline::from(std::shared_ptr<const Source>(data))
                      .batch({.size = batch, .tail = Tail::shorter})
                      .build();
  std::vector<Cases> all;
  while (true) {
    const NextBatch next = loader.next();
    if (next.status == NextBatch::Status::end) break;
    for (Cases& one : inference.add(example_of_fields(next.batch, device), next.batch, predict))
      all.push_back(std::move(one));
  }
  CHECK(inference.finish().empty());
  return all;
}

// The scores are those by definition, and to the bit those of a pass window by window.
void require_same(const std::vector<Cases>& cases, const std::shared_ptr<WindowData>& data,
                  const WindowInferenceOptions& options) {
  REQUIRE(cases.size() == data->volumes.size());
  const std::vector<Cases> first = pass(data, 1, options);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    const Cases& one = cases[i];
    const at::Tensor scores = one.scores[0];
    CHECK(at::allclose(scores.to(at::kDouble), defined_scores(data->volumes[i].image, options),
                       1e-5, 1e-5));
    CHECK(at::equal(scores, first[i].scores[0]));
    CHECK(at::equal(one.example.targets.at("label")[0], data->volumes[i].label));
    CHECK(one.example.targets.size() == 1);
    CHECK(case_count(one) == 1);
    CHECK(one.example.rows == 1);
    CHECK_FALSE(one.are_rows);
    REQUIRE(one.origins.size() == 1);
    CHECK(one.origins.front().index == static_cast<std::int64_t>(i));
    CHECK(one.origins.front().file == "case " + std::to_string(i));
  }
}

// A batch of all windows and its example.
struct Whole {
  explicit Whole(const std::shared_ptr<WindowData>& data)
      : loader(Pipeline::from(std::shared_ptr<const Source>(data))
                   .batch({.size = data->size()})
                   .build()),
        batch(loader.next().batch) {}

  Example rows(std::int64_t first, std::int64_t last) const {
    return example_of_fields(batch.rows(first, last), at::kCPU);
  }
  std::vector<Cases> give(WindowInference& to, std::int64_t first, std::int64_t last) const {
    return to.add(rows(first, last), batch.rows(first, last), predict);
  }

  Loader loader;
  Batch batch;
};

// Says what a window is by itself, for a whole evaluation.
class WindowsCourse final : public Course {
 public:
  explicit WindowsCourse(std::shared_ptr<WindowData> data) : data_(std::move(data)) {}

  std::unique_ptr<models::Network> network() const override { return nullptr; }
  Pipeline train(const Stage&, const Feed&) const override { throw std::logic_error("none"); }
  Pipeline evaluation(Split, const Feed& feed) const override {
    return Pipeline::from(std::shared_ptr<const Source>(data_))
        .batch({.size = feed.batch, .tail = Tail::shorter});
  }
  Output forward(models::Network&, const Example& example, const Moment&) const override {
    const at::Tensor& windows = only(example.inputs, "input");
    if (windows.size(0) > most_rows)
      TORCH_CHECK_WITH(OutOfMemoryError, false, "no memory for so many rows");
    return {.main = ::network(windows)};
  }
  at::Tensor scores(const Output& output) const override { return output.main; }
  std::vector<Term> loss(const Output&, const Example&, const Moment&) const override {
    throw std::logic_error("cases without an output have no loss");
  }
  std::unique_ptr<Inference> inference(Split) const override {
    return std::make_unique<WindowInference>(data_->windows, WindowInferenceOptions{});
  }
  std::unique_ptr<Metric> metric(Split, const TensorMap&) const override { return nullptr; }

  std::int64_t most_rows = 1000;

 private:
  std::shared_ptr<WindowData> data_;
};

}  // namespace

TEST_CASE("windows become volumes by definition, to the same bits whatever the batches") {
  const auto data = std::make_shared<WindowData>();
  for (const std::int64_t batch : {1, 2, 7, 1000}) {
    CAPTURE(batch);
    for (const std::vector<std::int64_t>& mirror :
         std::vector<std::vector<std::int64_t>>{{}, {2}, {0, 1, 2}}) {
      const WindowInferenceOptions options{.mirror = mirror};
      require_same(pass(data, batch, options), data, options);
    }
  }
  const WindowInferenceOptions even{.weights = {.sigma = 0.0}};
  require_same(pass(data, 5, even), data, even);
}

TEST_CASE("what memory runs out in is asked again, and changes nothing") {
  const auto data = std::make_shared<WindowData>();
  const Whole whole(data);
  const std::int64_t half = data->size() / 2;
  std::int64_t tensors = 0;
  {
    WindowInference inference(data->windows, {});
    whole.give(inference, 0, half);
    const Example rest = whole.rows(half, data->size());
    tensors = tensors_made_by(
        [&] { inference.add(rest, whole.batch.rows(half, data->size()), predict); });
  }
  CHECK(tensors > 8);
  for (std::int64_t n = 1; n <= tensors; ++n) {
    CAPTURE(n);
    WindowInference inference(data->windows, {});
    std::vector<Cases> cases = whole.give(inference, 0, half);
    const Example rest = whole.rows(half, data->size());
    {
      const Refusal refusal(nth(n));
      CHECK_THROWS_AS(inference.add(rest, whole.batch.rows(half, data->size()), predict),
                      c10::OutOfMemoryError);
    }
    for (std::int64_t row = half; row < data->size(); row += 3)
      for (Cases& one : whole.give(inference, row, std::min(row + 3, data->size())))
        cases.push_back(std::move(one));
    CHECK(inference.finish().empty());
    require_same(cases, data, {});
  }
}

TEST_CASE("an evaluation goes on with fewer windows at once") {
  const auto data = std::make_shared<WindowData>();
  WindowsCourse course(data);
  course.most_rows = 2;
  const auto unused = make_network<StatefulModule>(1);
  Loader loader = course.evaluation(Split::test, {.batch = 7}).build();
  std::vector<Cases> cases;
  std::vector<std::int64_t> fewer;
  const auto evaluation = evaluate(
      course, *unused, loader,
      {.split = Split::test,
       .origins = true,
       .on_cases = [&](const Cases& one) { cases.push_back(one); },
       .on_fewer_rows = [&](std::int64_t rows, const std::string&) { fewer.push_back(rows); }});
  CHECK(fewer == std::vector<std::int64_t>{4, 2});
  CHECK(evaluation->samples == 3);
  require_same(cases, data, {});
}

TEST_CASE("a pass that ends before the data shows the volumes that are whole") {
  const auto data = std::make_shared<WindowData>();
  const WindowsCourse course(data);
  const auto unused = make_network<StatefulModule>(1);
  const std::int64_t of_first = data->windows->front().grid.size();
  for (const std::int64_t batches : {std::int64_t{1}, of_first, data->size(), data->size() + 5}) {
    Loader loader = course.evaluation(Split::test, {.batch = 1}).build();
    std::int64_t seen = 0;
    evaluate(course, *unused, loader,
             {.batches = batches, .on_cases = [&](const Cases&) { ++seen; }});
    CHECK(seen == (batches < of_first ? 0 : batches == of_first ? 1 : 3));
  }
}

TEST_CASE("rows that are not the windows of the grids are refused") {
  const auto data = std::make_shared<WindowData>();
  const Whole whole(data);
  const std::int64_t all = data->size();
  WindowInference inference(data->windows, {});
  CHECK_THROWS_WITH_AS(whole.give(inference, 1, 3), doctest::Contains("expected 0, got 1 ("),
                       DataError);
  whole.give(inference, 0, all - 1);
  CHECK_THROWS_WITH_AS(inference.finish(), doctest::Contains("case 2 is not whole, got"),
                       DataError);
  whole.give(inference, all - 1, all);
  CHECK_NOTHROW(inference.finish());
  CHECK_THROWS_WITH_AS(whole.give(inference, 0, 1), doctest::Contains("as the grids have, got"),
                       DataError);

  const auto refused = [&](const Predict& predicts, const char* what) {
    WindowInference other(data->windows, {});
    CHECK_THROWS_WITH_AS(other.add(whole.rows(0, 2), whole.batch.rows(0, 2), predicts),
                         doctest::Contains(what), ConfigError);
  };
  refused([](const Example&) { return Prediction{}; }, "scores to put together, got none");
  refused(
      [](const Example&) {
        return Prediction{.scores = at::zeros({2, 3, 4, 6, 7})};
      },
      "[2, classes, 4, 6, 8], got [2, 3, 4, 6, 7]");
  WindowInference other(data->windows, {});
  whole.give(other, 0, 1);
  const auto three = [](const Example&) {
    return Prediction{.scores = at::zeros({1, 3, 4, 6, 8})};
  };
  CHECK_THROWS_WITH_AS(other.add(whole.rows(1, 2), whole.batch.rows(1, 2), three),
                       doctest::Contains("case 0 must be of 2 classes as before, got 3"),
                       ConfigError);
  Example odd = whole.rows(1, 2);
  odd.targets["more"] = at::zeros({1});
  CHECK_THROWS_WITH_AS(other.add(odd, whole.batch.rows(1, 2), predict),
                       doctest::Contains("\"more\" must be [1, 4, 6, 8], got [1]"), ConfigError);
  odd.targets["more"] = odd.targets.at("label");
  CHECK_THROWS_WITH_AS(other.add(odd, whole.batch.rows(1, 2), predict),
                       doctest::Contains("the same targets, got 2 beside 1"), ConfigError);
  CHECK_THROWS_WITH_AS(WindowInference(data->windows, {.mirror = {3}}),
                       doctest::Contains("axes 0 to 2, each once, got [3]"), ConfigError);
}

TEST_CASE("a volume of which a window could not be read is absent, the others are as they were") {
  const auto whole = std::make_shared<WindowData>();
  const std::vector<Cases> wanted = pass(whole, 5, {});
  for (const std::int64_t batch : {1, 5, 100}) {
    CAPTURE(batch);
    const auto data = std::make_shared<WindowData>();
    data->broken = 3;  // of the first
    WindowInference inference(data->windows, {});
    Loader loader = Pipeline::from(std::shared_ptr<const Source>(data))
                        .batch({.size = batch, .tail = Tail::shorter})
                        .on_bad_sample({.rule = BadSamples::Rule::shrink})
                        .build();
    std::vector<Cases> cases;
    while (const Batch next = loader.next().batch)
      for (Cases& one : inference.add(example_of_fields(next, at::kCPU), next, predict))
        cases.push_back(std::move(one));
    REQUIRE(cases.size() == wanted.size());
    CHECK(counted_rows(cases[0].example) == 0);
    CHECK_FALSE(cases[0].example.present[0].item<bool>());
    CHECK((cases[0].unread == std::vector<std::int64_t>{0}));
    for (std::size_t i = 1; i < cases.size(); ++i) {
      CHECK(cases[i].unread.empty());
      CHECK(counted_rows(cases[i].example) == 1);
      CHECK(cases[i].scores.equal(wanted[i].scores));
    }
  }
}

TEST_CASE("windows that others stand in for are an error") {
  const auto data = std::make_shared<WindowData>();
  data->broken = 3;
  WindowInference inference(data->windows, {});
  Loader loader = Pipeline::from(std::shared_ptr<const Source>(data))
                      .batch({.size = 5, .tail = Tail::shorter})
                      .on_bad_sample({.rule = BadSamples::Rule::replace})
                      .build();
  const Batch batch = loader.next().batch;
  CHECK_THROWS_WITH_AS(inference.add(example_of_fields(batch, at::kCPU), batch, predict),
                       doctest::Contains("windows in order, expected 3, got "), DataError);
}

TEST_CASE("sums that are too large for a device are kept on the host, targets beside them") {
  const auto data = std::make_shared<WindowData>();
  const WindowInferenceOptions options{.most_device_bytes = 0};
  const std::vector<Cases> cases = pass(data, 4, options);
  require_same(cases, data, options);
  for (const Cases& one : cases)
    CHECK(one.scores.is_cpu());
}

TEST_CASE("a device gives the host's scores, wherever sums are kept") {
  if (!headrace::test::open_torch_gpu()) return headrace::test::skip("needs a GPU");
  const auto data = std::make_shared<WindowData>();
  for (const std::size_t most : {std::size_t{0}, std::size_t{1} << 30}) {
    const WindowInferenceOptions options{.most_device_bytes = most};
    for (const Cases& one : pass(data, 4, options, at::Device(at::kCUDA, 0))) {
      CHECK(one.scores.is_cpu() == (most == 0));
      const auto number = static_cast<std::size_t>(one.origins.front().index);
      CHECK(at::allclose(one.scores[0].cpu().to(at::kDouble),
                         defined_scores(data->volumes[number].image, options), 1e-5, 1e-5));
    }
  }
}
