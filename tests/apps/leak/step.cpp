#include <headrace/apps/jobs/leak/names.h>
#include <headrace/apps/jobs/leak/recipe_torch.h>
#include <headrace/tests/apps/job_steps.h>

namespace headrace::test {

JobStep leak_step(c10::Device device) {
  const app::LeakFile file{.longs = 1,
                           .shorts = 1,
                           .mels = 64,
                           .frames = 2,
                           .labels = {0, 1, 0},
                           .mean = -40.0,
                           .deviation = 12.0};
  return job_step(
      std::make_shared<app::LeakCourse>(app::LeakConfig(), app::LeakSplits{file, file, file},
                                        app::LeakSources(), device),
      device, zero_rows(FieldSpec::fixed("mel", DType::float16, {64, 2}), app::leak_classes));
}

}  // namespace headrace::test
