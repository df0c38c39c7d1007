// A step of several micro-batches is that of one large batch, also where pixels are ignored.
#include <headrace/models/losses/cross_entropy.h>

#include "tensor_difference.h"
#include "trainer_run.h"

#include <memory>
#include <string>
#include <vector>

using namespace headrace::training;
using doctest::Approx;
namespace models = headrace::models;

namespace {

constexpr std::int64_t ignored_class = 255;
constexpr std::int64_t pixels_of_mask = 16;

// Pictures of 4 x 4 whose masks ignore from no pixel up to all of them.
class MaskSource final : public headrace::Source {
 public:
  std::string name() const override { return "masks"; }
  std::int64_t size() const override { return 13; }
  headrace::Schema fields() const override {
    return {headrace::FieldSpec::fixed("image", headrace::DType::float32, {3, 4, 4}),
            headrace::FieldSpec::fixed("mask", headrace::DType::int64, {4, 4})};
  }
  void read(std::int64_t index, headrace::Sample& sample) const override {
    auto* image = sample.make("image", headrace::DType::float32, {3, 4, 4}).data<float>();
    for (std::int64_t i = 0; i < 3 * pixels_of_mask; ++i)
      image[i] = static_cast<float>(std::sin(static_cast<double>(index * 7 + i * 3)));
    auto* mask = sample.make("mask", headrace::DType::int64, {4, 4}).data<std::int64_t>();
    const std::int64_t left_out = index * 5 % (pixels_of_mask + 1);
    for (std::int64_t i = 0; i < pixels_of_mask; ++i)
      mask[i] = i < left_out ? ignored_class : (index + i) % 3;
  }
};

// Classes of pixels by themselves; without a norm, whose statistics would be a micro-batch's.
struct PixelModule : torch::nn::Module {
  at::Tensor forward(const at::Tensor& input) { return second(at::tanh(first(input))); }
  torch::nn::Conv2d first =
      register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 5, 1)));
  torch::nn::Conv2d second =
      register_module("second", torch::nn::Conv2d(torch::nn::Conv2dOptions(5, 3, 1)));
};

at::Tensor loss_of_pixels(const at::Tensor& logits, const at::Tensor& target, const at::Tensor&) {
  return models::mean_cross_entropy(logits, target, {.weights = {.ignore = ignored_class}}).value;
}

struct Trained {
  TensorMap weights;
  std::vector<double> losses;  // of the epochs
};

enum class Weighed : unsigned char { by_example, by_term, by_rows };

at::Tensor counted(const at::Tensor& mask) {
  return (mask != ignored_class).sum();
}

// Two epochs of windows of six pictures, the last of one.
Trained trained(std::int64_t batch, Weighed weighed = Weighed::by_example) {
  const OneThread one_thread;
  const auto network = make_network<PixelModule>(1);
  const Stage stage{.epochs = 2,
                    .batch = batch,
                    .accumulation = 6 / batch,
                    .optimizer = {.rule = SgdRule{.momentum = .9}, .learning_rate = .1},
                    .clip_norm = .2};
  headrace::test::CourseParts parts(
      {.loss = loss_of_pixels, .unpack = [weighed](const headrace::Batch& all, at::Device device) {
         Example example = example_of_fields(all, device);
         if (weighed == Weighed::by_example)
           example.weight = counted(only(example.targets, "mask"));
         return example;
       }});
  if (weighed == Weighed::by_term) parts.weight = counted;
  const headrace::test::FunctionCourse course(std::move(parts));
  Optimizer optimizer(parameter_groups(stage, network->parameters()), stage.optimizer);
  headrace::Loader loader = headrace::Pipeline::from(MaskSource()).batch({.size = batch}).build({});
  Trained result;
  Trainer trainer({.course = course,
                   .stage = stage,
                   .network = *network,
                   .optimizer = optimizer,
                   .train = loader},
                  {}, {.on_epoch = [&](const EpochReport& report) {
                    result.losses.push_back(figure(report.train, "loss"));
                  }});
  CHECK(trainer.run().progress.step == 2 * 3);
  result.weights = snapshot(*network);
  return result;
}

}  // namespace

TEST_CASE("windows of micro-batches train as large batches do, with ignored pixels in each") {
  const Trained whole = trained(6);
  for (const auto& [batch, weighed] :
       std::vector<std::pair<std::int64_t, Weighed>>{{1, Weighed::by_example},
                                                     {2, Weighed::by_example},
                                                     {3, Weighed::by_example},
                                                     {1, Weighed::by_term},
                                                     {2, Weighed::by_term}}) {
    CAPTURE(batch);
    const Trained parts = trained(batch, weighed);
    CHECK(largest_difference(parts.weights, whole.weights) < 1e-6);
    REQUIRE(parts.losses.size() == whole.losses.size());
    for (std::size_t epoch = 0; epoch < whole.losses.size(); ++epoch)
      CHECK(parts.losses[epoch] == Approx(whole.losses[epoch]).epsilon(1e-6));
  }
}

TEST_CASE("without a weight each micro-batch counts as much as another, and it shows") {
  CHECK(largest_difference(trained(2, Weighed::by_rows).weights, trained(6).weights) > 1e-4);
}
