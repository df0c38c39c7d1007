#include <headrace/training/detail/pixel_targets.h>
#include <headrace/training/segmentation_metric.h>

#include <utility>

namespace headrace::inline v1::training {

SegmentationMetric::SegmentationMetric(SegmentationOptions options)
    : options_(std::move(options)), counts_(static_cast<std::int64_t>(options_.classes.size())) {}

void SegmentationMetric::add(const Cases& cases) {
  const bool scored = cases.scores.defined();
  learns_ = learns_ && !scored;
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
  if (found != state.end()) counts_.restore(found->second);
}

}  // namespace headrace::inline v1::training
