#pragma once

#include <headrace/apps/jobs/surface/config.h>
#include <headrace/apps/learn/volume_course_torch.h>
#include <headrace/apps/learn/volume_recipe_torch.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// One member of the job surface: one mask, by a sigmoid.
class SurfaceCourse final : public VolumeCourse {
 public:
  SurfaceCourse(Parts parts, std::shared_ptr<const SurfaceConfig> config);

  /// Probabilities [N, 1, Z, Y, X].
  at::Tensor scores(const training::Output& output) const override;
  /// Of a validation the best of the ways to decide; of a test the leaderboard's score, too, by
  /// what the validation chose. While it learns how long steps waited for the term topology, where
  /// there is one.
  std::unique_ptr<training::Metric> metric(training::Split split,
                                           const training::TensorMap& fitted) const override;

 private:
  std::shared_ptr<const SurfaceConfig> config_;
};

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
