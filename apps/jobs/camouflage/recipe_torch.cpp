#include <headrace/apps/jobs/camouflage/course_torch.h>
#include <headrace/apps/jobs/camouflage/recipe_torch.h>
#include <headrace/apps/jobs/camouflage/records.h>
#include <headrace/apps/task/check_masks.h>

#include <utility>

namespace headrace::inline v1::app {

CamouflageRecipe::CamouflageRecipe(std::shared_ptr<const CamouflageConfig> config)
    : PictureRecipe(config, object_mask()), config_(std::move(config)) {}

TaskRecords CamouflageRecipe::listed() const {
  return camouflage_records(*config_);
}

std::vector<std::int64_t> CamouflageRecipe::judged(const LabelledSource& test,
                                                   std::vector<std::int64_t> rows) const {
  require_objects(test);
  return wanted_pictures(*config_, test, std::move(rows), "the data");
}

std::vector<std::string> CamouflageRecipe::class_names() const {
  return {"ground", "object"};
}

std::uint64_t CamouflageRecipe::open() {
  require_objects(*records().train.source);
  for (const RecordSet* part : {&records().validation, &records().test})
    if (part->source != records().train.source) require_objects(*part->source);
  check_masks(records(), feed());
  return PictureRecipe::open();
}

std::unique_ptr<training::Course> CamouflageRecipe::begin(const training::Member& member) const {
  PictureCourse::Parts all = parts(member);
  all.outputs = 1;
  all.loss = {.sigmoid = true};
  return std::make_unique<CamouflageCourse>(std::move(all));
}

at::Tensor CamouflageRecipe::predicted(const at::Tensor& scores,
                                       std::span<const training::TensorMap>) const {
  return (scores.squeeze(1) >= threshold_of(config_->task.predict)).to(at::kLong);
}

std::unique_ptr<training::Recipe> camouflage_recipe(const JobConfig& config, Device) {
  return std::make_unique<CamouflageRecipe>(
      std::make_shared<const CamouflageConfig>(dynamic_cast<const CamouflageConfig&>(config)));
}

}  // namespace headrace::inline v1::app
