// The job step by step beside PyTorch, with what its program makes it of.
#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/jobs/glaucoma/recipe_torch.h>
#include <headrace/models/networks/efficient_glaucoma_cnn.h>
#include <headrace/tests/apps/pytorch_checks.h>

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
  check_job_steps("glaucoma", glaucoma(false));
}

TEST_CASE("the steps of the glaucoma job over micro-batches with absent rows are PyTorch's") {
  check_window_steps("glaucoma", glaucoma(true));
}

}  // namespace headrace::test
