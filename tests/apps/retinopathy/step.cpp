#include <headrace/apps/jobs/retinopathy/config.h>
#include <headrace/apps/jobs/retinopathy/pair_course_torch.h>
#include <headrace/tests/apps/job_steps.h>

namespace headrace::test {

JobStep retinopathy_step(c10::Device device) {
  auto config = std::make_shared<app::RetinopathyConfig>();
  config->task.model.width = 0.25;
  config->task.image.decode.side = 64;
  app::PictureCourse::Parts parts{.config = config, .feed = {.task = config->task}};
  return job_step(std::make_shared<app::PairCourse>(std::move(parts), models::ClassPair{0, 1},
                                                    std::vector<std::string>{"0", "1", "2"}, false),
                  device, zero_rows(FieldSpec::fixed("image", DType::float32, {64, 64, 3}), 2));
}

}  // namespace headrace::test
