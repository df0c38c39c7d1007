#pragma once

#include <headrace/apps/jobs/surface/config.h>
#include <headrace/apps/jobs/volume_recipe_torch.h>

#include <memory>
#include <span>
#include <string>

namespace headrace::inline v1::app {

/// Thin sheets in volumes: one network of one mask, or one for each fold.
class SurfaceRecipe final : public VolumeRecipe {
 public:
  SurfaceRecipe(std::shared_ptr<const SurfaceConfig> config, Device device);

  /// With what the judging of the largest volume takes.
  monitor::MemoryForecast plan() override;
  std::unique_ptr<training::Course> begin(const training::Member& member) const override;
  VolumeDecision decision(std::span<const training::TensorMap> fitted) const override;
  /// By what the validations chose together.
  std::unique_ptr<training::Metric> metric_of_vote(
      std::span<const training::TensorMap> fitted) const override;

 private:
  std::string task_name() const override { return "surface"; }
  VolumeClasses expected() const override { return surface_classes(); }
  std::int64_t outputs(std::int64_t) const override { return 1; }
  void check_terms(const LossList& loss) const override;

  std::shared_ptr<const SurfaceConfig> config_;
};

}  // namespace headrace::inline v1::app
