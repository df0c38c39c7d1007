#include <headrace/apps/jobs/classification/config.h>
#include <headrace/apps/learn/class_course_torch.h>
#include <headrace/tests/apps/job_steps.h>

namespace headrace::test {

JobStep classification_step(c10::Device device) {
  auto config = std::make_shared<app::ClassificationConfig>();
  config->task.model.width = 0.25;
  config->task.image.decode.side = 64;
  app::PictureCourse::Parts parts{.config = config, .feed = {.task = config->task}, .outputs = 3};
  return job_step(
      std::make_shared<app::ClassCourse>(std::move(parts), app::ClassLabels{.classes = 3}), device,
      zero_rows(FieldSpec::fixed("image", DType::float32, {64, 64, 3}), 3));
}

}  // namespace headrace::test
