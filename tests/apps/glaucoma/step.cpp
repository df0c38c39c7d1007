#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/apps/jobs/glaucoma/recipe_torch.h>
#include <headrace/tests/apps/job_steps.h>

namespace headrace::test {

JobStep glaucoma_step(c10::Device device) {
  return job_step(
      std::make_shared<app::GlaucomaCourse>(app::GlaucomaConfig(), app::GlaucomaRecords(),
                                            training::Member()),
      device,
      zero_rows(FieldSpec::fixed("image", DType::float32, {16, 16, 3}), app::glaucoma_classes));
}

}  // namespace headrace::test
