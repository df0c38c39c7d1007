#include <headrace/apps/jobs/glaucoma/parts_torch.h>
#include <headrace/apps/jobs/leak/parts_torch.h>
#include <headrace/models/efficient_glaucoma_cnn.h>
#include <headrace/models/leak_cnn.h>

#include "trainer_run.h"

#include <headrace/tests/support/skip.h>
#include "pytorch_run.h"

// Both jobs step by step beside PyTorch, with what their programs make them of.
namespace headrace::test {
namespace {

constexpr double double_bound = 1e-8;
constexpr double float_bound = 1e-6;
constexpr double moment_bound = 3e-5;
constexpr const char* no_python = "needs Python with torch (HEADRACE_TORCH_PYTHON)";

Recipe glaucoma(bool windows) {
  app::GlaucomaConfig config;
  config.training.epochs = 1;
  if (windows) config.training.schedule = app::GlaucomaSchedule::one_cycle;
  return {.make_network = [] { return models::make_efficient_glaucoma_cnn({.dropout = false}); },
          .loss = app::glaucoma_loss(config.training),
          .adamw = {.learning_rate = config.training.learning_rate,
                    .weight_decay = config.training.weight_decay},
          .trainer = app::glaucoma_trainer_options(config, {}, 0, PytorchRun::steps)};
}

Recipe leak(const PytorchRun& run) {
  app::LeakConfig config;
  config.training.epochs = 10;
  config.training.leak_boost = 2.5;
  app::LeakFile file;
  for (std::size_t label = 0; label < run.class_counts().size(); ++label)
    file.labels.insert(file.labels.end(), static_cast<std::size_t>(run.class_counts()[label]),
                       static_cast<std::uint8_t>(label));
  return {.make_network = [] { return models::make_leak_cnn({.dropout = false}); },
          .loss = app::leak_training_loss(file, config.training, at::kCPU),
          .adamw = {.learning_rate = config.training.learning_rate,
                    .weight_decay = config.training.weight_decay},
          .trainer = app::leak_trainer_options(config, {}, file, /*steps_per_epoch=*/2)};
}

// The step after which a run in double has left PyTorch's; -1 for none.
std::int64_t leaves_at(const Recipe& recipe, const PytorchRun& run) {
  Steps steps(recipe, run, at::kDouble);
  double worst = 0.0;
  for (std::int64_t step = 0; step < PytorchRun::steps; ++step) {
    worst = std::max(worst, difference(steps.step(step), run.loss("float64", step)));
    if (worst > double_bound) return step;
  }
  MESSAGE("float64: losses of 20 steps differ by " << worst);
  return -1;
}

void check_float_steps(const Recipe& recipe, const PytorchRun& run) {
  Steps steps(recipe, run, at::kFloat);
  StepDifference worst;
  for (std::int64_t step = 0; step < PytorchRun::steps; ++step) {
    CAPTURE(step);
    const StepDifference now = difference_of_step(steps, run, step);
    CHECK(now.loss <= float_bound);
    CHECK(now.weights <= float_bound);
    CHECK(now.buffers <= float_bound);
    CHECK(now.moments <= moment_bound);
    CHECK(now.left_out < 0.01);
    worst = {.loss = std::max(worst.loss, now.loss),
             .weights = std::max(worst.weights, now.weights),
             .buffers = std::max(worst.buffers, now.buffers),
             .moments = std::max(worst.moments, now.moments),
             .left_out = std::max(worst.left_out, now.left_out)};
  }
  MESSAGE("float32: loss " << worst.loss << ", weights " << worst.weights << ", buffers "
                           << worst.buffers << ", moments " << worst.moments << ", left out "
                           << worst.left_out);
}

// Whether a recipe that is wrong would be noticed in either precision.
bool noticed(const Recipe& wrong, const PytorchRun& run) {
  if (leaves_at(wrong, run) < 0) return false;
  Steps steps(wrong, run, at::kFloat);
  for (std::int64_t step = 0; step < PytorchRun::steps; ++step) {
    const StepDifference now = difference_of_step(steps, run, step);
    if (now.loss > float_bound || now.weights > float_bound) return true;
  }
  return false;
}

Recipe with_decay_of_vectors(Recipe recipe) {
  recipe.adamw.decay_vectors = true;
  return recipe;
}

Recipe with_epsilon(Recipe recipe, double epsilon) {
  recipe.adamw.epsilon = epsilon;
  return recipe;
}

Recipe with_clip(Recipe recipe, double norm) {
  recipe.trainer.clip_norm = norm;
  return recipe;
}

Recipe blind_to_absence(Recipe recipe) {
  recipe.loss = [loss = recipe.loss](const at::Tensor& output, const at::Tensor& target,
                                     const at::Tensor&) { return loss(output, target, {}); };
  return recipe;
}

}  // namespace

TEST_CASE("the steps of the glaucoma job are PyTorch's") {
  const std::string& python = python_with_torch();
  if (python.empty()) return skip(no_python);
  const training::OneThread one_thread;
  const PytorchRun run(python, "glaucoma", "batches");
  const Recipe recipe = glaucoma(false);
  CHECK(leaves_at(recipe, run) == -1);
  check_float_steps(recipe, run);
  CHECK(noticed(with_decay_of_vectors(recipe), run));
  CHECK(noticed(with_epsilon(recipe, 1e-6), run));
}

TEST_CASE("the steps of the glaucoma job over micro-batches with absent rows are PyTorch's") {
  const std::string& python = python_with_torch();
  if (python.empty()) return skip(no_python);
  const training::OneThread one_thread;
  const PytorchRun run(python, "glaucoma", "windows");
  const Recipe recipe = glaucoma(true);
  CHECK(leaves_at(recipe, run) == -1);
  check_float_steps(recipe, run);
  CHECK(noticed(blind_to_absence(recipe), run));
}

TEST_CASE("the steps of the leak job are PyTorch's") {
  const std::string& python = python_with_torch();
  if (python.empty()) return skip(no_python);
  const training::OneThread one_thread;
  const PytorchRun run(python, "leak", "batches");
  const Recipe recipe = leak(run);
  CHECK(leaves_at(recipe, run) == -1);
  check_float_steps(recipe, run);
  CHECK(noticed(with_decay_of_vectors(recipe), run));
  CHECK(noticed(with_epsilon(recipe, 1e-7), run));
  CHECK(noticed(with_clip(recipe, 0.0), run));
}

TEST_CASE("the steps of the leak job over micro-batches with absent rows are PyTorch's") {
  const std::string& python = python_with_torch();
  if (python.empty()) return skip(no_python);
  const training::OneThread one_thread;
  const PytorchRun run(python, "leak", "windows");
  const Recipe recipe = leak(run);
  CHECK(leaves_at(recipe, run) == -1);
  check_float_steps(recipe, run);
  CHECK(noticed(blind_to_absence(recipe), run));
}

}  // namespace headrace::test
