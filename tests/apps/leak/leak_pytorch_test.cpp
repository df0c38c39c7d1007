// The job step by step beside PyTorch, with what its program makes it of.
#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/jobs/leak/recipe_torch.h>
#include <headrace/models/networks/leak_cnn.h>
#include <headrace/tests/apps/pytorch_checks.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/training/trainer_run.h>

#include "../../support/torch_doctest.h"

#include <memory>

namespace headrace::test {
namespace {

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

}  // namespace

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
