// The task step by step beside PyTorch, with what its program makes it of.
#include <headrace/apps/jobs/segmentation/recipe_torch.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/tests/apps/pytorch_checks.h>
#include <headrace/tests/apps/tensor_rows.h>

#include "../../support/torch_doctest.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

namespace headrace::test {
namespace {

const std::vector<std::string> classes{"ground", "cat", "dog", "bird"};

std::shared_ptr<const training::Course> course_of(double width) {
  auto config = std::make_shared<app::SegmentationConfig>();
  config->training.epochs = 10;
  config->task.model.encoder = "resnet18";
  config->task.model.width = width;
  config->task.image.decode.side = 64;
  app::PictureCourse::Parts parts{.config = config,
                                  .feed = {.task = config->task},
                                  .outputs = static_cast<std::int64_t>(classes.size())};
  return std::make_shared<app::SegmentationCourse>(std::move(parts), classes);
}

}  // namespace

TEST_CASE("the steps of a U-Net in the task segmentation are PyTorch's") {
  check_job_steps("segmentation", recipe_of(course_of(0.25)));
}

TEST_CASE("the steps of the task segmentation over micro-batches are PyTorch's") {
  check_window_steps("segmentation", recipe_of(course_of(0.25)));
}

TEST_CASE("the steps of segmentation_models.pytorch's Unet are those of the task segmentation" *
          doctest::test_suite("long")) {
  check_peer_steps("segmentation:Smp", "segmentation_models_pytorch", recipe_of(course_of(1.0)));
}

TEST_CASE("pictures and masks of a batch become an example as they are") {
  const auto course = course_of(0.25);
  const training::Stage stage = course->stages().front();
  const at::Tensor pictures = at::randn({4, 64, 64, 3});
  const at::Tensor masks = at::randint(0, 4, {4, 64, 64}, at::kByte);
  Loader loader = Pipeline::from(tensor_rows({{"image", pictures}, {"mask", masks}}))
                      .batch({.size = 4})
                      .build();
  Random random;
  int batches = 0;
  for (Batch& batch : loader.epoch(0)) {
    const training::Example example =
        course->example(batch, {.stage = stage, .training = true, .random = random});
    CHECK(at::equal(training::only(example.inputs, "input"), pictures.permute({0, 3, 1, 2})));
    CHECK(at::equal(training::only(example.targets, "target"), masks.to(at::kLong)));
    ++batches;
  }
  CHECK(batches == 1);
}

}  // namespace headrace::test
