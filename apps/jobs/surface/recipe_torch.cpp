#include <headrace/apps/jobs/surface/course_torch.h>
#include <headrace/apps/jobs/surface/metric_torch.h>
#include <headrace/apps/jobs/surface/recipe_torch.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace headrace::inline v1::app {

namespace {

// Pairs are looked for by the same threads in all stages.
void require_same_topology(const LossEntry& entry, const LossList& first) {
  const auto* term = std::get_if<TopologyTerm>(&entry.term);
  if (term == nullptr) return;
  for (const LossEntry& other : first) {
    const auto* known = std::get_if<TopologyTerm>(&other.term);
    if (known == nullptr || (known->side == term->side && known->threads == term->threads))
      continue;
    throw ConfigError("[config] " + entry.place.text() +
                      ": topology must have the same side and threads in all stages, got others "
                      "than in loss");
  }
}

}  // namespace

SurfaceRecipe::SurfaceRecipe(std::shared_ptr<const SurfaceConfig> config, Device device)
    : VolumeRecipe(config, device), config_(std::move(config)) {}

monitor::MemoryForecast SurfaceRecipe::plan() {
  monitor::MemoryForecast forecast = VolumeRecipe::plan();
  forecast.add("judging the largest volume",
               figures_bytes(largest_extent(), candidates_of(config_->decision)),
               "labels of four ways to decide");
  return forecast;
}

std::unique_ptr<training::Course> SurfaceRecipe::begin(const training::Member& member) const {
  VolumeCourse::Parts all = parts(member);
  all.sigmoid = true;
  return std::make_unique<SurfaceCourse>(std::move(all), config_);
}

VolumeDecision SurfaceRecipe::decision(std::span<const training::TensorMap> fitted) const {
  return chosen_decision(fitted, candidates_of(config_->decision));
}

std::unique_ptr<training::Metric> SurfaceRecipe::metric_of_vote(
    std::span<const training::TensorMap> fitted) const {
  return std::make_unique<SurfaceMetric>(SurfaceMetricOptions{
      .candidates = {decision(fitted)}, .tolerances = config_->score.tolerances, .score = true});
}

void SurfaceRecipe::check_terms(const LossList& loss) const {
  for (const LossEntry& entry : loss) {
    require_same_topology(entry, config_->task.loss);
    if (std::holds_alternative<CrossEntropyTerm>(entry.term))
      throw ConfigError(
          "[config] loss: cross_entropy is for several classes, but surface has one mask; take "
          "bce");
    if (std::holds_alternative<EdgeTerm>(entry.term) ||
        std::holds_alternative<StructureTerm>(entry.term))
      throw ConfigError("[config] loss: " + name_of(entry) +
                        " judges masks of pictures; take cldice, skeleton_recall or "
                        "surface_distance for sheets in volumes");
  }
}

std::unique_ptr<training::Recipe> surface_recipe(const JobConfig& config, Device device) {
  return std::make_unique<SurfaceRecipe>(
      std::make_shared<const SurfaceConfig>(dynamic_cast<const SurfaceConfig&>(config)), device);
}

}  // namespace headrace::inline v1::app
