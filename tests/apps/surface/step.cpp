#include <headrace/apps/jobs/surface/config.h>
#include <headrace/apps/jobs/surface/recipe_torch.h>
#include <headrace/tests/apps/job_steps.h>

#include <cstring>

namespace headrace::test {
namespace {

// Patches of nothing, with all that the terms of the loss look at.
class EmptyPatches final : public Source {
 public:
  std::string name() const override { return "empty patches"; }
  std::int64_t size() const override { return epoch_rows; }
  Schema fields() const override {
    return {FieldSpec::fixed("image", DType::float32, {1, 16, 32, 16}),
            FieldSpec::fixed("label", DType::uint8, {16, 32, 16}),
            FieldSpec::fixed("label_1", DType::uint8, {8, 16, 8}),
            FieldSpec::fixed("label_2", DType::uint8, {4, 8, 4}),
            FieldSpec::fixed("label_3", DType::uint8, {2, 4, 2}),
            FieldSpec::fixed("skeleton", DType::uint8, {16, 32, 16}),
            FieldSpec::fixed("soft_skeleton", DType::uint8, {16, 32, 16}),
            FieldSpec::fixed("betti", DType::int32, {3})};
  }
  void read(std::int64_t, Sample& sample) const override {
    for (const FieldSpec& field : fields()) {
      const Tensor values = sample.make(field.name, field.dtype, field.shape);
      std::memset(values.raw(), 0, static_cast<std::size_t>(values.bytes()));
    }
  }
};

}  // namespace

JobStep surface_step(c10::Device device) {
  auto config = std::make_shared<app::SurfaceConfig>();
  config->task.model.base = 2;
  config->task.model.blocks = 1;
  config->task.volume.patch = {16, 32, 16};
  // Whole volumes have no loss, so that there the deep outputs are not made.
  config->task.loss = app::composite_loss(config->composite, /*deep=*/false);
  config->task.loss.push_back({.term = app::SkeletonRecallTerm{}});
  config->training.checkpointed = {};
  app::VolumeCourse::Parts parts{.config = config,
                                 .records = {.classes = {"background", "surface"}, .ignore = 2},
                                 .outputs = 1,
                                 .sigmoid = true};
  return job_step(std::make_shared<app::SurfaceCourse>(std::move(parts), config), device,
                  std::make_shared<const EmptyPatches>());
}

}  // namespace headrace::test
