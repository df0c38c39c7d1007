// The task step by step beside PyTorch, with what its program makes it of.
#include <headrace/apps/jobs/classification/config.h>
#include <headrace/apps/learn/class_course_torch.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/tests/apps/pytorch_checks.h>
#include <headrace/tests/apps/tensor_rows.h>

#include "../../support/torch_doctest.h"

#include <memory>
#include <utility>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>

namespace headrace::test {
namespace {

constexpr std::int64_t classes = 5;

std::shared_ptr<const training::Course> course_of(double width) {
  auto config = std::make_shared<app::ClassificationConfig>();
  config->training.epochs = 10;
  config->task.model.width = width;
  config->task.image.decode.side = 64;
  config->task.loss = {app::LossEntry{.term = app::CrossEntropyTerm{.smoothing = 0.1}}};
  app::PictureCourse::Parts parts{
      .config = config, .feed = {.task = config->task}, .outputs = classes};
  return std::make_shared<app::ClassCourse>(std::move(parts), app::ClassLabels{.classes = classes});
}

}  // namespace

TEST_CASE("the steps of a ResNet-18 in the task classification are PyTorch's") {
  check_job_steps("classification", recipe_of(course_of(0.25)));
}

TEST_CASE("the steps of the task classification over micro-batches are PyTorch's") {
  check_window_steps("classification", recipe_of(course_of(0.25)));
}

TEST_CASE("the steps of timm's resnet18 are those of the task classification" *
          doctest::test_suite("long")) {
  check_peer_steps("classification:Timm", "timm", recipe_of(course_of(1.0)));
}

TEST_CASE("pictures and labels of a batch become an example as they are") {
  const auto course = course_of(0.25);
  const training::Stage stage = course->stages().front();
  const at::Tensor pictures = at::randn({4, 64, 64, 3});
  const at::Tensor labels = at::arange(4);
  Loader loader = Pipeline::from(tensor_rows({{"image", pictures}, {"label", labels}}))
                      .batch({.size = 4})
                      .build();
  Random random;
  int batches = 0;
  for (Batch& batch : loader.epoch(0)) {
    const training::Example example =
        course->example(batch, {.stage = stage, .training = true, .random = random});
    CHECK(at::equal(training::only(example.inputs, "input"), pictures.permute({0, 3, 1, 2})));
    CHECK(at::equal(training::only(example.targets, "target"), labels));
    ++batches;
  }
  CHECK(batches == 1);
}

}  // namespace headrace::test
