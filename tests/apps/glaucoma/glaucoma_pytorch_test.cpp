// The job step by step beside PyTorch, with what its program makes it of.
#include <headrace/apps/jobs/glaucoma/course_torch.h>
#include <headrace/apps/jobs/stage_torch.h>
#include <headrace/models/networks/efficient_glaucoma_cnn.h>
#include <headrace/tests/apps/pytorch_checks.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/training/trainer_run.h>

#include "../../support/torch_doctest.h"

#include <memory>

namespace headrace::test {
namespace {

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

}  // namespace headrace::test
