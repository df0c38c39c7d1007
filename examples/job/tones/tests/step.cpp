#include <headrace/apps/jobs/tones/course_torch.h>
#include <headrace/apps/jobs/tones/data.h>
#include <headrace/tests/apps/job_steps.h>

namespace headrace::test {

JobStep tones_step(c10::Device device) {
  const app::TonesConfig config;
  return job_step(app::tones_course(config), device,
                  zero_rows(FieldSpec::fixed("sound", DType::float32, {1, app::tone_values}),
                            config.data.pitches));
}

}  // namespace headrace::test
