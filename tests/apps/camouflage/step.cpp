#include <headrace/apps/jobs/camouflage/config.h>
#include <headrace/apps/jobs/camouflage/recipe_torch.h>
#include <headrace/engine/sample/mask.h>
#include <headrace/tests/apps/job_steps.h>

#include <cstring>

namespace headrace::test {
namespace {

// Pictures of one colour and masks of nothing.
class EmptyPictures final : public Source {
 public:
  std::string name() const override { return "empty pictures"; }
  std::int64_t size() const override { return epoch_rows; }
  Schema fields() const override {
    return {FieldSpec::fixed("image", DType::float32, {64, 64, 3}),
            FieldSpec::fixed("mask", DType::uint8, {64, 64})};
  }
  void read(std::int64_t, Sample& sample) const override {
    for (const FieldSpec& field : fields()) {
      const Tensor values = sample.make(field.name, field.dtype, field.shape);
      std::memset(values.raw(), 0, static_cast<std::size_t>(values.bytes()));
    }
  }
};

}  // namespace

JobStep camouflage_step(c10::Device device) {
  auto config = std::make_shared<app::CamouflageConfig>();
  config->task.model.name = "camoxpert_lean";
  config->task.model.encoder = "edgenext_xx_small";
  config->task.image.decode.side = 64;
  app::PictureCourse::Parts parts{.config = config,
                                  .feed = {.task = config->task, .whole = true},
                                  .outputs = 1,
                                  .loss = {.sigmoid = true}};
  return job_step(std::make_shared<app::CamouflageCourse>(std::move(parts)), device,
                  std::make_shared<const EmptyPictures>());
}

}  // namespace headrace::test
