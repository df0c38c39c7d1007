#include <headrace/engine/base/error.h>
#include <headrace/training/binary_segmentation_metric.h>
#include <headrace/training/detail/fitted_thresholds.h>
#include <headrace/training/detail/pixel_targets.h>

#include <limits>
#include <utility>

#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tensor.h>

namespace headrace::inline v1::training {

namespace {

using Matrices = std::vector<models::ConfusionMatrix>;

std::vector<double> thresholds_in(const TensorMap& fitted) {
  const auto found = fitted.find(detail::thresholds_key);
  if (found == fitted.end()) return {};
  const at::Tensor host = found->second.to(at::kCPU, at::kDouble).contiguous();
  const double* values = host.const_data_ptr<double>();
  return {values, values + host.numel()};
}

double mean_of_masks(const Matrices& masks,
                     double (*value)(const models::ConfusionMatrix&, std::int64_t)) {
  double sum = 0.0;
  int seen = 0;
  for (const models::ConfusionMatrix& mask : masks) {
    if (mask.support(1) + mask.predicted(1) == 0) continue;
    sum += value(mask, 1);
    ++seen;
  }
  return seen > 0 ? sum / seen : std::numeric_limits<double>::quiet_NaN();
}

double pixel_accuracy(const Matrices& masks) {
  models::ConfusionMatrix all(2);
  for (const models::ConfusionMatrix& mask : masks)
    all.add(mask);
  return models::accuracy(all);
}

}  // namespace

BinarySegmentationMetric::BinarySegmentationMetric(BinarySegmentationOptions options,
                                                   const TensorMap& fitted)
    : options_(std::move(options)),
      given_(thresholds_in(fitted)),
      counts_(static_cast<std::int64_t>(options_.masks.size())) {
  if (!given_.empty() && given_.size() != options_.masks.size())
    throw ConfigError("[BinarySegmentationMetric] " + std::to_string(options_.masks.size()) +
                      " masks need a threshold each, got " + std::to_string(given_.size()));
}

void BinarySegmentationMetric::add(const Cases& cases) {
  const bool scored = cases.scores.defined();
  learns_ = learns_ && !scored;
  const at::Tensor scores = scored ? cases.scores : at::sigmoid(cases.output.main.to(at::kFloat));
  detail::PixelTargets targets =
      detail::pixel_targets(cases.example, options_.target, options_.ignore);
  if (targets.values.dim() < scores.dim()) {
    targets.values = targets.values.unsqueeze(1);
    if (targets.present.defined()) targets.present = targets.present.unsqueeze(1);
  }
  counts_.add(scores, targets.values, targets.present);
}

double BinarySegmentationMetric::threshold_of(std::int64_t mask) const {
  if (!options_.fit_thresholds || learns_) return detail::usual_threshold;
  return given_.empty() ? counts_.best_threshold(mask, options_.goal)
                        : given_[static_cast<std::size_t>(mask)];
}

Figures BinarySegmentationMetric::result() {
  confusions_.clear();
  thresholds_.clear();
  for (std::int64_t k = 0; k < std::ssize(options_.masks); ++k) {
    const double threshold = threshold_of(k);
    confusions_.push_back(counts_.matrix(k, threshold));
    if (options_.fit_thresholds && !learns_) thresholds_.push_back(threshold);
  }
  Figures figures{{"mean_dice", mean_of_masks(confusions_, models::f1)}};
  if (!learns_) figures.emplace_back("mean_iou", mean_of_masks(confusions_, models::iou));
  figures.emplace_back("pixel_accuracy", pixel_accuracy(confusions_));
  if (learns_) return figures;
  for (std::size_t k = 0; k < confusions_.size(); ++k) {
    figures.emplace_back("dice_" + options_.masks[k], models::f1(confusions_[k], 1));
    figures.emplace_back("iou_" + options_.masks[k], models::iou(confusions_[k], 1));
  }
  for (std::size_t k = 0; k < thresholds_.size(); ++k)
    figures.emplace_back("threshold_" + options_.masks[k], thresholds_[k]);
  return figures;
}

TensorMap BinarySegmentationMetric::fitted() const {
  if (thresholds_.empty()) return {};
  return {{detail::thresholds_key, at::tensor(thresholds_, at::kDouble)}};
}

TensorMap BinarySegmentationMetric::state() const {
  if (!counts_.state().defined()) return {};
  return {{"probabilities", counts_.state().cpu()}};
}

void BinarySegmentationMetric::restore(const TensorMap& state) {
  const auto found = state.find("probabilities");
  if (found != state.end()) counts_.restore(found->second);
}

at::Tensor decided_masks(const at::Tensor& scores, const TensorMap& fitted) {
  const std::vector<double> thresholds = thresholds_in(fitted);
  if (thresholds.empty()) return scores >= detail::usual_threshold;
  std::vector<std::int64_t> beside(static_cast<std::size_t>(scores.dim()), 1);
  beside[1] = static_cast<std::int64_t>(thresholds.size());
  return scores >= at::tensor(thresholds, at::kDouble).view(beside).to(scores.options());
}

}  // namespace headrace::inline v1::training
