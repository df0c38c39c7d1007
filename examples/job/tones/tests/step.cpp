#include <headrace/apps/job/recipe_torch.h>
#include <headrace/apps/jobs/tones/data.h>
#include <headrace/tests/apps/job_steps.h>

#include <memory>

namespace headrace::test {

JobStep tones_step(c10::Device device) {
  const app::TonesConfig config;
  const std::shared_ptr<const training::Course> course =
      app::make_recipe("tones", config, Device{})->begin({});
  return job_step(course, device,
                  zero_rows(FieldSpec::fixed("sound", DType::float32, {1, app::tone_values}),
                            config.data.pitches));
}

}  // namespace headrace::test
