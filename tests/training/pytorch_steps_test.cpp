#include <headrace/apps/jobs/glaucoma/course_torch.h>
#include <headrace/apps/jobs/leak/course_torch.h>
#include <headrace/apps/jobs/stage_torch.h>
#include <headrace/models/networks/efficient_glaucoma_cnn.h>
#include <headrace/models/networks/leak_cnn.h>
#include <headrace/tests/support/skip.h>

#include "changed_course.h"
#include "pytorch_run.h"
#include "trainer_run.h"

// Both jobs step by step beside PyTorch, with what their programs make them of.
namespace headrace::test {
namespace {

constexpr double double_bound = 1e-8;
constexpr double float_bound = 1e-6;
constexpr double moment_bound = 3e-5;
constexpr const char* no_python = "needs Python with torch (HEADRACE_TORCH_PYTHON)";

JobRecipe glaucoma(bool windows) {
  app::GlaucomaConfig config;
  config.training.epochs = 1;
  if (windows) config.training.schedule = training::OneCycleRate{};
  return {.make_network = [] { return models::make_efficient_glaucoma_cnn({.dropout = false}); },
          .course = std::make_shared<app::GlaucomaCourse>(config, app::GlaucomaRecords{},
                                                          training::Member{}),
          .stage = app::stage_of(config.training),
          .steps_per_epoch = PytorchRun::steps};
}

JobRecipe leak(const PytorchRun& run) {
  app::LeakConfig config;
  config.training.epochs = 10;
  config.loss.leak_boost = 2.5;
  app::LeakSplits files;
  for (std::size_t label = 0; label < run.class_counts().size(); ++label)
    files.training.labels.insert(files.training.labels.end(),
                                 static_cast<std::size_t>(run.class_counts()[label]),
                                 static_cast<std::uint8_t>(label));
  return {.make_network = [] { return models::make_leak_cnn({.dropout = false}); },
          .course = std::make_shared<app::LeakCourse>(config, files, app::LeakSources{}, at::kCPU),
          .stage = app::stage_of(config.training),
          .steps_per_epoch = 2};
}

// The step after which a run in double has left PyTorch's; -1 for none.
std::int64_t leaves_at(const JobRecipe& recipe, const PytorchRun& run) {
  Steps steps(recipe, run, at::kDouble);
  double worst = 0.0;
  for (std::int64_t step = 0; step < PytorchRun::steps; ++step) {
    worst = std::max(worst, difference(steps.step(step), run.loss("float64", step)));
    if (worst > double_bound) return step;
  }
  MESSAGE("float64: losses of 20 steps differ by " << worst);
  return -1;
}

void check_float_steps(const JobRecipe& recipe, const PytorchRun& run) {
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
bool noticed(const JobRecipe& wrong, const PytorchRun& run) {
  if (leaves_at(wrong, run) < 0) return false;
  Steps steps(wrong, run, at::kFloat);
  for (std::int64_t step = 0; step < PytorchRun::steps; ++step) {
    const StepDifference now = difference_of_step(steps, run, step);
    if (now.loss > float_bound || now.weights > float_bound) return true;
  }
  return false;
}

JobRecipe with_decay_of_vectors(JobRecipe recipe) {
  recipe.stage.optimizer.decay_vectors = true;
  return recipe;
}

JobRecipe with_epsilon(JobRecipe recipe, double epsilon) {
  recipe.stage.optimizer.epsilon = epsilon;
  return recipe;
}

JobRecipe with_clip(JobRecipe recipe, double norm) {
  recipe.stage.clip_norm = norm;
  return recipe;
}

JobRecipe blind_to_absence(JobRecipe recipe) {
  recipe.course = std::make_shared<ChangedCourse>(
      recipe.course, CourseChanges{.example_for_loss = [](training::Example example) {
        example.present.reset();
        return example;
      }});
  return recipe;
}

}  // namespace

TEST_CASE("the steps of the glaucoma job are PyTorch's") {
  const std::string& python = python_with_torch();
  if (python.empty()) return skip(no_python);
  const training::OneThread one_thread;
  const PytorchRun run(python, "glaucoma", "batches");
  const JobRecipe recipe = glaucoma(false);
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
  const JobRecipe recipe = glaucoma(true);
  CHECK(leaves_at(recipe, run) == -1);
  check_float_steps(recipe, run);
  CHECK(noticed(blind_to_absence(recipe), run));
}

TEST_CASE("the steps of the leak job are PyTorch's") {
  const std::string& python = python_with_torch();
  if (python.empty()) return skip(no_python);
  const training::OneThread one_thread;
  const PytorchRun run(python, "leak", "batches");
  const JobRecipe recipe = leak(run);
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
  const JobRecipe recipe = leak(run);
  CHECK(leaves_at(recipe, run) == -1);
  check_float_steps(recipe, run);
  CHECK(noticed(blind_to_absence(recipe), run));
}

}  // namespace headrace::test
