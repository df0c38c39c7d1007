#include <headrace/apps/jobs/surface/metric_torch.h>
#include <headrace/apps/jobs/surface/surface_settings.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/mask_pair.h>
#include <headrace/models/metrics/surface_dice.h>
#include <headrace/models/metrics/surface_score.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include <ATen/Functions.h>

namespace headrace::inline v1::app {
namespace {

constexpr const char* label_field = "label";
constexpr const char* decision_tensor = "decision";

at::Tensor on_host(const at::Tensor& values, at::ScalarType type) {
  return values.detach().to(at::kCPU, type).contiguous();
}

// A mean over volumes of several sums; of none it is not a number.
double mean_of(double sum, std::int64_t volumes) {
  return sum / static_cast<double>(volumes);
}

// The lower median, so that a choice is one of those that were made.
double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

SurfaceMetric::SurfaceMetric(SurfaceMetricOptions options)
    : options_(std::move(options)), sums_(options_.candidates.size()) {
  if (options_.candidates.empty())
    throw ConfigError("[surface] there must be a way to make labels, got none");
  if (options_.score && options_.candidates.size() > 1)
    throw ConfigError("[surface] the score is of one way to make labels, got " +
                      std::to_string(options_.candidates.size()));
}

void SurfaceMetric::add(const training::Cases& cases) {
  // Those of a plan have no values, and those of a volume that could not be read mean nothing.
  if (cases.scores.is_meta() || !cases.unread.empty()) return;
  const at::Tensor scores = on_host(cases.scores, at::kFloat);
  const at::Tensor truth = on_host(cases.example.targets.at(label_field), at::kByte);
  if (scores.dim() != 5 || scores.size(0) != 1 || scores.size(1) != 1 ||
      truth.numel() != scores.numel())
    throw ConfigError("[surface] scores must be of one whole volume and one mask, [1, 1, z, y, x]");
  const auto voxels = static_cast<std::size_t>(scores.numel());
  const JudgedVolume volume{.scores = {scores.const_data_ptr<float>(), voxels},
                            .truth = {truth.const_data_ptr<std::uint8_t>(), voxels},
                            .extent = {scores.size(2), scores.size(3), scores.size(4)}};
  const std::vector<SheetFigures> figures = figures_of(volume, options_.candidates);
  if (options_.score) add_score(volume);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    sums_[i].surface_dice += figures[i].surface_dice;
    sums_[i].voxel_dice += figures[i].voxel_dice;
    sums_[i].overlap += figures[i].overlap;
  }
  ++volumes_;
}

void SurfaceMetric::add_score(const JudgedVolume& volume) {
  const std::vector<std::uint8_t> labels = labels_of(volume, options_.candidates.front());
  const models::MaskPair pair(labels, volume.truth, volume.extent, volume.ignore);
  const models::SurfaceScore score = models::surface_score(pair);
  training::Figures figures{{"score", score.value},
                            {"score_least", score.least},
                            {"score_most", score.most},
                            {"topology", score.topology.value},
                            {"topology_least", score.topology.least},
                            {"topology_most", score.topology.most},
                            {"voi", score.information.sum()}};
  if (!options_.tolerances.empty())
    for (const models::SurfaceAgreement& one : models::surface_dice(pair, options_.tolerances).at)
      if (one.tolerance != leaderboard_tolerance)
        figures.emplace_back(figure_of(one.tolerance), one.dice);
  if (score_sums_.empty())
    for (const auto& [name, value] : figures)
      score_sums_.emplace_back(name, 0.0);
  for (std::size_t i = 0; i < figures.size(); ++i)
    score_sums_[i].second += figures[i].second;
}

std::size_t SurfaceMetric::best() const {
  const auto found = std::ranges::max_element(sums_, {}, &SheetFigures::surface_dice);
  return static_cast<std::size_t>(found - sums_.begin());
}

training::Figures SurfaceMetric::result() {
  const SheetFigures& sums = sums_[best()];
  training::Figures figures{
      {figure_of(leaderboard_tolerance), mean_of(sums.surface_dice, volumes_)},
      {"voxel_dice_2", mean_of(sums.voxel_dice, volumes_)},
      {"dice", sums.overlap.dice()},
      {"iou", sums.overlap.iou()}};
  for (const auto& [name, sum] : score_sums_)
    figures.emplace_back(name, mean_of(sum, volumes_));
  return figures;
}

training::TensorMap SurfaceMetric::fitted() const {
  if (volumes_ == 0) return {};
  const VolumeDecision& chosen = options_.candidates[best()];
  const std::vector<double> values{
      chosen.threshold.value_or(0.5), chosen.smooth, static_cast<double>(chosen.smallest),
      chosen.largest_only ? 1.0 : 0.0, static_cast<double>(chosen.closing)};
  return {{decision_tensor, at::tensor(values, at::kDouble)}};
}

VolumeDecision chosen_decision(std::span<const training::TensorMap> fitted,
                               const std::vector<VolumeDecision>& candidates) {
  std::vector<std::vector<double>> values(5);
  for (const training::TensorMap& one : fitted) {
    const auto found = one.find(decision_tensor);
    if (found == one.end()) continue;
    const at::Tensor chosen = on_host(found->second, at::kDouble);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i].push_back(chosen.const_data_ptr<double>()[i]);
  }
  if (values.front().empty())
    return *std::ranges::min_element(candidates, {}, [](const VolumeDecision& one) {
      return std::abs(one.threshold.value_or(0.5) - 0.5);
    });
  return {.smooth = median(values[1]),
          .threshold = median(values[0]),
          .smallest = static_cast<std::int64_t>(median(values[2])),
          .largest_only = median(values[3]) > 0.5,
          .closing = static_cast<int>(median(values[4])),
          .of_prepared = true};
}

}  // namespace headrace::inline v1::app
