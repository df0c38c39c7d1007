#include <headrace/apps/jobs/surface/course_torch.h>
#include <headrace/apps/jobs/surface/metric_torch.h>

#include <algorithm>
#include <array>
#include <utility>

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

}  // namespace headrace::inline v1::app
