#include <headrace/engine/base/error.h>
#include <headrace/training/example.h>
#include <headrace/training/metrics/detail/fitted_thresholds.h>
#include <headrace/training/metrics/segmentation_metric.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tensor.h>

namespace headrace::inline v1::training::detail {
namespace {

// A mask of an example, and which of its pixels count: to be broadcast, undefined when all do.
struct PixelTargets {
  at::Tensor values = {};
  at::Tensor present = {};
};

const at::Tensor& target_named(const Example& example, const std::string& name) {
  if (name.empty()) return only(example.targets, "target");
  const auto found = example.targets.find(name);
  if (found != example.targets.end()) return found->second;
  std::string names;
  for (const auto& [other, tensor] : example.targets)
    names += (names.empty() ? "" : ", ") + other;
  throw ConfigError("[example] there must be a target \"" + name + "\", got " +
                    (names.empty() ? "none" : names));
}

// The target of that name, of no name the only one. Pixels that have the value `ignore` and those
// of absent rows do not count. Throws `ConfigError` where there is no such target.
PixelTargets pixel_targets(const Example& example, const std::string& name,
                           std::optional<std::int64_t> ignore) {
  PixelTargets targets{.values = target_named(example, name)};
  if (example.present.defined()) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(targets.values.dim()), 1);
    rows.front() = example.present.size(0);
    targets.present = example.present.view(rows);
  }
  if (!ignore) return targets;
  if (!targets.values.is_floating_point()) targets.values = targets.values.to(at::kLong);
  const at::Tensor known = targets.values != *ignore;
  targets.present = targets.present.defined() ? targets.present & known : known;
  return targets;
}

}  // namespace
}  // namespace headrace::inline v1::training::detail

namespace headrace::inline v1::training {

SegmentationMetric::SegmentationMetric(SegmentationOptions options)
    : options_(std::move(options)), counts_(static_cast<std::int64_t>(options_.classes.size())) {}

void SegmentationMetric::add(const Cases& cases) {
  const bool scored = cases.scores.defined();
  learns_ = !scored;
  const at::Tensor& values = scored ? cases.scores : cases.output.main;
  detail::PixelTargets targets =
      detail::pixel_targets(cases.example, options_.target, options_.ignore);
  if (targets.values.dim() == values.dim()) {
    targets.values = targets.values.squeeze(1);
    if (targets.present.defined()) targets.present = targets.present.squeeze(1);
  }
  counts_.add(values, targets.values, targets.present);
}

Figures SegmentationMetric::result() {
  const models::ConfusionMatrix matrix = *confusion();
  const std::int64_t first = options_.background ? 0 : 1;
  Figures figures{{"mean_dice", models::macro_f1(matrix, first)}};
  if (!learns_) figures.emplace_back("mean_iou", models::mean_iou(matrix, first));
  figures.emplace_back("pixel_accuracy", models::accuracy(matrix));
  if (learns_) return figures;
  for (std::int64_t k = 0; k < matrix.classes(); ++k) {
    const std::string& name = options_.classes[static_cast<std::size_t>(k)];
    figures.emplace_back("dice_" + name, models::f1(matrix, k));
    figures.emplace_back("iou_" + name, models::iou(matrix, k));
  }
  return figures;
}

TensorMap SegmentationMetric::state() const {
  if (!counts_.state().defined()) return {};
  return {{"confusion", counts_.state().cpu()}};
}

void SegmentationMetric::restore(const TensorMap& state) {
  const auto found = state.find("confusion");
  if (found == state.end()) return;
  counts_.restore(found->second);
  learns_ = true;
}

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
  learns_ = !scored;
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
  if (!options_.fit_thresholds || learns_ || !counts_.state().defined())
    return detail::usual_threshold;
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
  if (found == state.end()) return;
  counts_.restore(found->second);
  learns_ = true;
}

at::Tensor decided_masks(const at::Tensor& scores, const TensorMap& fitted) {
  const std::vector<double> thresholds = thresholds_in(fitted);
  if (thresholds.empty()) return scores >= detail::usual_threshold;
  std::vector<std::int64_t> beside(static_cast<std::size_t>(scores.dim()), 1);
  beside[1] = static_cast<std::int64_t>(thresholds.size());
  return scores >= at::tensor(thresholds, at::kDouble).view(beside).to(scores.options());
}

}  // namespace headrace::inline v1::training
