#include <headrace/apps/jobs/camouflage/measures_torch.h>
#include <headrace/apps/jobs/camouflage/recipe_torch.h>
#include <headrace/apps/jobs/camouflage/records.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace headrace::inline v1::app {
namespace {

constexpr std::array<std::string_view, 4> quick{"iou", "dice", "mae", "loss"};

// Pictures of one kind of animal have one number; those whose names say nothing one each.
std::vector<std::int64_t> animals_of(const Source& records, const std::vector<std::int64_t>& rows) {
  std::map<std::string, std::int64_t> numbers;
  std::vector<std::int64_t> groups;
  for (const std::int64_t row : rows) {
    const CodName name = cod_name_of(records.origin(row));
    const std::string key = name.sub_class.empty() ? records.origin(row) : name.sub_class;
    const auto number = static_cast<std::int64_t>(numbers.size());
    groups.push_back(numbers.try_emplace(key, number).first->second);
  }
  return groups;
}

}  // namespace

double threshold_of(const PredictSettings& predict) {
  const auto* given = std::get_if<GivenThreshold>(&predict.threshold);
  return given == nullptr ? GivenThreshold{}.value : given->value;
}

CamouflageCourse::CamouflageCourse(Parts all)
    : PictureCourse(std::move(all)), unpack_(image_fields(parts(), "", 0), parts().outputs) {}

training::Example CamouflageCourse::example(const Batch& batch,
                                            const training::Moment& moment) const {
  return unpack_(batch, moment.device);
}

at::Tensor CamouflageCourse::scores(const training::Output& output) const {
  return output.main.to(at::kFloat).sigmoid();
}

std::unique_ptr<training::Metric> CamouflageCourse::metric(training::Split split,
                                                           const training::TensorMap&) const {
  const double threshold = threshold_of(task().predict);
  const bool test = split == training::Split::test;
  const bool all = test || std::ranges::find(quick, task().selected_by) == quick.end();
  if (split == training::Split::train || !all) return std::make_unique<QuickMaskMetric>(threshold);
  const auto source = (test ? parts().records.test : parts().records.validation).source;
  if (!source) return std::make_unique<MaskMeasures>(MaskMeasureOptions{.threshold = threshold});
  const auto& rows = test ? parts().member.test : parts().member.validation;
  return std::make_unique<MaskMeasures>(MaskMeasureOptions{
      .threshold = threshold,
      .own_mask =
          [source, rows](std::int64_t picture) {
            return read_object_mask(*source, rows.at(static_cast<std::size_t>(picture)));
          },
      .groups = animals_of(*source, rows)});
}

training::Selection CamouflageCourse::selected_by() const {
  if (task().selected_by != "mae") return PictureCourse::selected_by();
  return {.figure = "mae", .goal = training::Goal::minimum};
}

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
