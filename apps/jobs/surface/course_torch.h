#pragma once

#include <headrace/apps/jobs/surface/config.h>
#include <headrace/apps/jobs/volume_course_torch.h>

#include <memory>
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

}  // namespace headrace::inline v1::app
