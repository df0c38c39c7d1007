#include <headrace/tests/apps/pytorch_checks.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/torch_doctest.h>
#include <headrace/tests/training/changed_course.h>
#include <headrace/tests/training/trainer_run.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace headrace::test {
namespace {

constexpr double double_bound = 1e-8;
constexpr double float_bound = 1e-6;
constexpr double moment_bound = 3e-5;

}  // namespace

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
  std::get<training::AdamWRule>(recipe.stage.optimizer.rule).epsilon = epsilon;
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

JobRecipe recipe_of(std::shared_ptr<const training::Course> course) {
  return {.make_network = [course] { return course->network(); },
          .course = course,
          .stage = course->stages().front(),
          .steps_per_epoch = 2};
}

void check_job_steps(const std::string& job, const JobRecipe& recipe) {
  const std::string& python = python_with_torch();
  if (python.empty()) return skip(no_python);
  const training::OneThread one_thread;
  const PytorchRun run(python, job, "batches");
  CHECK(leaves_at(recipe, run) == -1);
  check_float_steps(recipe, run);
  CHECK(noticed(with_decay_of_vectors(recipe), run));
  CHECK(noticed(with_epsilon(recipe, 1e-6), run));
}

void check_window_steps(const std::string& job, const JobRecipe& recipe) {
  const std::string& python = python_with_torch();
  if (python.empty()) return skip(no_python);
  const training::OneThread one_thread;
  const PytorchRun run(python, job, "windows");
  CHECK(leaves_at(recipe, run) == -1);
  check_float_steps(recipe, run);
  CHECK(noticed(blind_to_absence(recipe), run));
}

void check_peer_steps(const std::string& job, const char* package, const JobRecipe& recipe) {
  if (!python_has(package))
    return skip(("needs Python with torch and " + std::string(package) + " (HEADRACE_TORCH_PYTHON)")
                    .c_str());
  const training::OneThread one_thread;
  const PytorchRun run(python_with_torch(), job, "batches");
  CHECK(leaves_at(recipe, run) == -1);
  check_float_steps(recipe, run);
}

}  // namespace headrace::test
