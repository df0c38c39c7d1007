// Micro-batches of which some count little: a step is that of one batch, in every precision.
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/training/optimizer/update.h>

#include "../support/torch_doctest.h"
#include "function_course.h"
#include "one_thread.h"
#include "small_network.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::training;
using namespace headrace::models;

namespace {

constexpr std::int64_t no_class = 255;
constexpr std::int64_t side = 32;
constexpr std::int64_t voxels = side * side;
constexpr std::int64_t parts = 3;

enum class Weight : unsigned char { by_example, by_term, by_rows };

// Classes of pixels by themselves.
struct VoxelModule : torch::nn::Module {
  at::Tensor forward(const at::Tensor& input) { return second(at::tanh(first(input))); }
  torch::nn::Conv2d first =
      register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 5, 1)));
  torch::nn::Conv2d second =
      register_module("second", torch::nn::Conv2d(torch::nn::Conv2dOptions(5, 3, 1)));
};

at::Tensor voxels_that_count(const at::Tensor& target) {
  return (target != no_class).sum();
}

// Pictures, or with `by_rows` a row for each of their pixels.
Example example_of_parts(std::int64_t first, std::int64_t last,
                         const std::vector<std::int64_t>& counts, Weight weighed) {
  at::manual_seed(12);
  at::Tensor input = at::rand({parts, 3, side, side}) * 2 - 1;
  at::Tensor target = at::randint(3, {parts, side, side}, at::kLong);
  for (std::int64_t i = 0; i < parts; ++i)
    target[i].view(-1).slice(0, counts[static_cast<std::size_t>(i)]).fill_(no_class);
  input = input.slice(0, first, last);
  target = target.slice(0, first, last);
  if (weighed == Weight::by_rows) {
    input = input.permute({0, 2, 3, 1}).reshape({-1, 3, 1, 1});
    target = target.reshape({-1, 1, 1});
  }
  Example example = headrace::test::example_of(input, target);
  if (weighed == Weight::by_rows) example.present = (target != no_class).view(-1);
  if (weighed == Weight::by_example) example.weight = voxels_that_count(target);
  return example;
}

struct Stepped {
  at::Tensor gradient;  // of all parameters
  double norm = 0.0;
  double skipped = 0.0;
};

// The rule moves weights by what the gradient is.
class Steps {
 public:
  Steps(Weight weighed, UpdateOptions options)
      : course_({.loss =
                     [](const at::Tensor& logits, const at::Tensor& target, const at::Tensor&) {
                       return cross_entropy(logits, target, {.weights = {.ignore = no_class}});
                     },
                 .weight = weighed == Weight::by_term
                               ? voxels_that_count
                               : std::function<at::Tensor(const at::Tensor&)>()}),
        weighed_(weighed),
        network_(make_network<VoxelModule>(1)),
        optimizer_(network_->parameters(), {.rule = SgdRule{.momentum = 0.0, .nesterov = false},
                                            .learning_rate = 1.0,
                                            .weight_decay = 0.0}),
        update_(course_, *network_, optimizer_, options) {}

  Stepped step(const std::vector<std::int64_t>& counts, bool whole) {
    headrace::Random random;
    const Moment moment = headrace::test::moment_of(stage_, random);
    const at::Tensor before = weights();
    if (whole) {
      update_.accumulate(example_of_parts(0, parts, counts, weighed_), moment, true);
    } else {
      for (std::int64_t i = 0; i < parts; ++i)
        update_.accumulate(example_of_parts(i, i + 1, counts, weighed_), moment, false);
    }
    const StepOutcome outcome = update_.finish();
    return {.gradient = before - weights(),
            .norm = outcome.norm.item<double>(),
            .skipped = outcome.skipped.item<double>()};
  }

  double scale() const { return update_.scaler()->scale(); }

 private:
  at::Tensor weights() const {
    std::vector<at::Tensor> all;
    for (const NamedTensor& one : network_->parameters())
      all.push_back(one.tensor.detach().flatten().to(at::kDouble));
    return at::cat(all);
  }

  Stage stage_;
  headrace::test::FunctionCourse course_;
  Weight weighed_;
  std::unique_ptr<Network> network_;
  Optimizer optimizer_;
  Update update_;
};

}  // namespace

TEST_CASE("a step is that of one batch wherever in it all, 64, 1 or no voxels count") {
  const OneThread one_thread;
  constexpr std::array counts{voxels, std::int64_t{64}, std::int64_t{1}, std::int64_t{0}};
  struct Bound {
    Precision precision;
    double norm;
    double difference;  // of a voxel alone bfloat16 gives no more
  };
  for (const Bound& bound : {Bound{Precision::fp32, 1e-6, 3e-6}, Bound{Precision::bf16, 2e-3, 4e-3},
                             Bound{Precision::fp16, 2e-3, 2e-3}})
    for (const Weight weighed : {Weight::by_example, Weight::by_term, Weight::by_rows})
      for (std::size_t order = 0; order < 64; ++order) {
        const std::vector<std::int64_t> window{counts[order % 4], counts[order / 4 % 4],
                                               counts[order / 16]};
        const std::string precision = name_of(bound.precision);
        CAPTURE(precision);
        CAPTURE(static_cast<int>(weighed));
        CAPTURE(window[0]);
        CAPTURE(window[1]);
        CAPTURE(window[2]);
        const Stepped whole = Steps(weighed, {}).step(window, true);
        const UpdateOptions options{.precision = bound.precision, .scaler = {.scale = 4096.0}};
        const Stepped divided = Steps(weighed, options).step(window, false);
        CHECK(divided.skipped == 0.0);
        CHECK(std::abs(divided.norm - whole.norm) <= bound.norm * whole.norm);
        CHECK((divided.gradient - whole.gradient).norm().item<double>() <=
              bound.difference * whole.norm);
      }
}

TEST_CASE("in fp16 a first micro-batch that counts little costs no steps but the first few") {
  const OneThread one_thread;
  for (const Weight weighed : {Weight::by_example, Weight::by_term, Weight::by_rows}) {
    CAPTURE(static_cast<int>(weighed));
    Steps steps(weighed, {.precision = Precision::fp16});
    double skipped = 0.0;
    for (int i = 0; i < 20; ++i)
      skipped += steps.step({1, voxels, voxels}, false).skipped;
    CHECK(skipped <= 3.0);
    CHECK(steps.scale() >= 8192.0);
  }
}
