#include <headrace/apps/jobs/surface/metric_torch.h>
#include <headrace/apps/jobs/surface/recipe_torch.h>
#include <headrace/engine/base/error.h>

#include <array>
#include <utility>
#include <variant>

namespace headrace::inline v1::app {
namespace {

// "topology_wait_s": seconds that steps waited for the pairs of the topology term.
class TopologyWaits final : public training::Metric {
 public:
  explicit TopologyWaits(std::shared_ptr<const models::TopologyLoss> topology)
      : topology_(std::move(topology)), before_(topology_->waits().seconds) {}

  void add(const training::Cases&) override {}
  training::Figures result() override {
    return {{"topology_wait_s", topology_->waits().seconds - before_}};
  }

 private:
  std::shared_ptr<const models::TopologyLoss> topology_;
  double before_;
};

}  // namespace

SurfaceCourse::SurfaceCourse(Parts parts, std::shared_ptr<const SurfaceConfig> config)
    : VolumeCourse(std::move(parts)), config_(std::move(config)) {}

at::Tensor SurfaceCourse::scores(const training::Output& output) const {
  return output.main.to(at::kFloat).sigmoid();
}

std::unique_ptr<training::Metric> SurfaceCourse::metric(training::Split split,
                                                        const training::TensorMap& fitted) const {
  if (split == training::Split::train) {
    const auto& topology = loss_context().topology;
    return topology ? std::make_unique<TopologyWaits>(topology) : nullptr;
  }
  const std::vector<VolumeDecision> candidates = candidates_of(config_->decision);
  if (split == training::Split::validation)
    return std::make_unique<SurfaceMetric>(SurfaceMetricOptions{.candidates = candidates});
  return std::make_unique<SurfaceMetric>(
      SurfaceMetricOptions{.candidates = {chosen_decision(std::array{fitted}, candidates)},
                           .tolerances = config_->score.tolerances,
                           .score = true});
}

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
