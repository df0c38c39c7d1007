// Optimisers, schedules, clipping, the loss scale and averaged weights step by step beside
// PyTorch's own. Free runs of float32 drift apart by the choice of kernels: each of its steps
// begins from the state that PyTorch stored.
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/temporary_folder.h>
#include <headrace/tests/support/torch_python.h>
#include <headrace/training/checkpoint/safetensors.h>
#include <headrace/training/optimizer/update.h>
#include <headrace/training/optimizer/weight_average.h>
#include <headrace/training/stage/stage_schedule.h>

#include "../support/torch_doctest.h"
#include "function_course.h"
#include "trainer_run.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::training;
using headrace::models::NamedTensor;

namespace {

constexpr std::int64_t steps_of_run = 100;
constexpr std::int64_t steps_per_epoch = 10;
constexpr double highest_rate = 0.02;
constexpr double decay = 0.05;

constexpr std::array run_names{"adamw-constant",     "adamw-cosine",
                               "adamw-one-cycle",    "adamw-cycled",
                               "adamw-polynomial",   "adamw-step",
                               "adamw-plateau",      "adam-one-cycle",
                               "adam-cosine",        "sgd-cycled",
                               "sgd-step",           "nesterov-plateau",
                               "nesterov-cosine",    "adamw-one-cycle-scaled",
                               "adam-cycled-scaled", "nesterov-polynomial-scaled"};

// The runs of mechanics_steps.py, made once.
const headrace::test::TemporaryFolder& pytorch_runs() {
  static const headrace::test::TemporaryFolder folder;
  static const bool made = [] {
    std::string arguments = folder.path().string();
    for (const char* one : run_names)
      arguments += std::string(" ") + one;
    headrace::test::run_python("tests/training/mechanics_steps.py", arguments);
    return true;
  }();
  static_cast<void>(made);
  return folder;
}

// What PyTorch has done, and the same with the parts of this library.
class PyTorchSteps {
 public:
  PyTorchSteps(const std::string& name, at::ScalarType type)
      : name_(name),
        type_(type),
        said_(read_safetensors(
                  pytorch_runs() /
                  (name + (type == at::kDouble ? "-float64" : "-float32") + ".safetensors"))
                  .tensors),
        weights_{{"body.weight", at::zeros({6, 4}, type)},
                 {"body.bias", at::zeros({6}, type)},
                 {"head.weight", at::zeros({3, 6}, type)}},
        network_(weights_),
        course_({.loss = [this](const at::Tensor&, const at::Tensor&,
                                const at::Tensor&) { return loss(); }}),
        optimizer_(groups(), options()),
        update_(course_, network_, optimizer_,
                {.clip_norm = 2.0,
                 .precision = scaled() ? Precision::fp16 : Precision::fp32,
                 .scaler = {.interval = 8}}),
        average_((load(0), network_), 0.95) {}

  // The largest difference in all that a free run has; relative above 1.
  double free_run() {
    double largest = 0.0;
    for (step_ = 0; step_ < steps_of_run; ++step_) {
      largest = std::max(largest, difference_of_rates());
      take();
      largest = std::max(largest, difference_of_weights());
    }
    return largest;
  }

  double from_stored_states() {
    double largest = 0.0;
    for (step_ = 0; step_ < steps_of_run; ++step_) {
      load(step_);
      optimizer_.load_state(stored_state());
      difference_of_rates();
      take();
      largest = std::max(largest, difference_of_weights());
    }
    return largest;
  }

  // How many steps PyTorch's scaler has skipped, and this one.
  std::pair<std::int64_t, std::int64_t> skipped() const {
    const at::Tensor& scale = said_.at("scale");
    const auto lower = scale.slice(0, 1) < scale.slice(0, 0, steps_of_run);
    return {lower.sum().item<std::int64_t>(), steps_of_run - updates_};
  }
  double scale_difference() const {
    return std::abs(update_.scaler()->scale() - said_.at("scale")[steps_of_run].item<double>());
  }

 private:
  bool scaled() const { return name_.ends_with("-scaled"); }
  bool is(const char* word) const { return name_.find(word) != std::string::npos; }

  OptimizerOptions options() const {
    OptimizerOptions options{.learning_rate = highest_rate};
    if (name_.starts_with("adam-")) options.rule = AdamRule{};
    if (name_.starts_with("sgd")) options.rule = SgdRule{.nesterov = false};
    if (name_.starts_with("nesterov")) options.rule = SgdRule{};
    return options;
  }

  Schedule schedule() const {
    if (is("cosine")) return CosineRate{.warmup_epochs = 2, .lowest = 1e-5};
    if (is("one-cycle")) return OneCycleRate{};
    if (is("cycled")) return OneCycleRate{.cycle_momentum = true};
    if (is("polynomial")) return PolynomialRate{};
    if (is("step")) return StepRate{.every = 3, .factor = 0.3};
    if (is("plateau")) return plateau_;
    return ConstantRate{};
  }

  std::vector<ParameterGroup> groups() {
    for (const NamedTensor& weight : weights_)
      weight.tensor.set_requires_grad(true);
    return {{.parameters = {weights_[0]}, .weight_decay = decay},
            {.parameters = {weights_[1]}, .weight_decay = 0.0},
            {.parameters = {weights_[2]}, .rate_factor = 0.1, .weight_decay = 2 * decay}};
  }

  void load(std::int64_t step) {
    const at::NoGradGuard no_gradient;
    for (const NamedTensor& weight : weights_)
      weight.tensor.copy_(said_.at("weights/" + weight.name)[step]);
  }

  TensorMap stored_state() const {
    const std::string prefix = "state/" + std::to_string(step_) + "/";
    TensorMap state;
    for (const auto& [name, tensor] : optimizer_.state()) {
      const auto found = said_.find(prefix + name);
      state.emplace(name, found == said_.end() ? at::zeros_like(tensor) : found->second);
    }
    return state;
  }

  at::Tensor loss() const {
    at::Tensor sum;
    for (const NamedTensor& weight : weights_) {
      const at::Tensor part = (weight.tensor * said_.at("gradients/" + weight.name)[step_]).sum();
      sum = sum.defined() ? sum + part : part;
    }
    return sum;
  }

  void take() {
    headrace::Random random;
    const Stage stage;
    update_.accumulate(headrace::test::example_of(at::zeros({1}), at::zeros({1})),
                       headrace::test::moment_of(stage, random), true);
    const StepOutcome outcome = update_.finish();
    average_.update(updates_, outcome.skipped);
    if (outcome.skipped.item<double>() == 0.0) ++updates_;
    if ((step_ + 1) % steps_per_epoch == 0)
      seen_ = plateau_after(plateau_, seen_,
                            said_.at("metrics")[step_ / steps_per_epoch].item<double>());
  }

  double difference_of_rates() {
    const SchedulePlace place{.update = updates_,
                              .steps_per_epoch = steps_per_epoch,
                              .epochs = steps_of_run / steps_per_epoch,
                              .reductions = seen_.reductions};
    double largest = 0.0;
    for (std::size_t group = 0; group < 3; ++group) {
      const double rate = rate_at(schedule(), highest_rate * optimizer_.rate_factor(group), place);
      optimizer_.set_learning_rate(group, rate);
      const double theirs =
          said_.at("rates")[step_][static_cast<std::int64_t>(group)].item<double>();
      largest = std::max(largest, std::abs(rate - theirs));
    }
    if (const auto momentum = momentum_at(schedule(), place)) optimizer_.set_momentum(*momentum);
    return std::max(largest,
                    std::abs(optimizer_.momentum() - said_.at("momentum")[step_].item<double>()));
  }

  double difference_of_weights() const {
    double largest = 0.0;
    const auto compare = [&](const at::Tensor& ours, const at::Tensor& theirs) {
      const at::Tensor apart = (ours - theirs).abs() / theirs.abs().clamp_min(1.0);
      largest = std::max(largest, apart.max().item<double>());
    };
    for (const NamedTensor& weight : weights_) {
      compare(weight.tensor.detach(), said_.at("weights/" + weight.name)[step_ + 1]);
      if (type_ == at::kDouble)
        compare(average_.state().at(weight.name), said_.at("ema/" + weight.name)[step_ + 1]);
    }
    return largest;
  }

  // A network that is nothing but these tensors.
  class Weights final : public headrace::models::Network {
   public:
    explicit Weights(const headrace::models::NamedTensors& tensors) : tensors_(tensors) {}
    at::Tensor forward(const at::Tensor& input) override { return input; }
    headrace::models::NamedTensors parameters() const override { return tensors_; }
    headrace::models::NamedTensors buffers() const override { return {}; }
    void set_training(bool) override {}
    bool is_training() const override { return true; }
    void move_to(at::Device, bool) override {}

   private:
    headrace::models::NamedTensors tensors_;
  };

  std::string name_;
  at::ScalarType type_;
  TensorMap said_;
  headrace::models::NamedTensors weights_;
  Weights network_;
  headrace::test::FunctionCourse course_;
  PlateauOptions plateau_{
      .goal = Goal::maximum, .factor = 0.4, .patience = 1, .cooldown = 1, .lowest = 5e-4};
  PlateauState seen_;
  Optimizer optimizer_;
  Update update_;
  WeightAverage average_;
  std::int64_t step_ = 0;
  std::int64_t updates_ = 0;
};

}  // namespace

TEST_CASE("a hundred steps of every optimiser and schedule are PyTorch's") {
  if (headrace::test::python_with_torch().empty())
    return headrace::test::skip(headrace::test::no_python);
  const OneThread one;
  for (const std::string name : run_names) {
    CAPTURE(name);
    PyTorchSteps doubles(name, at::kDouble);
    CHECK(doubles.free_run() < 1e-10);
    PyTorchSteps floats(name, at::kFloat);
    CHECK(floats.from_stored_states() < 1e-6);
    if (!name.ends_with("-scaled")) continue;
    CHECK(doubles.skipped() == std::pair<std::int64_t, std::int64_t>(4, 4));
    CHECK(doubles.scale_difference() == 0.0);
  }
}
