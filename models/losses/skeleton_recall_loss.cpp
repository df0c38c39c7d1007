#include <headrace/engine/base/error.h>
#include <headrace/models/losses/skeleton_recall_loss.h>

#include <string>

namespace headrace::inline v1::models {

MeanLoss skeleton_recall_loss(const MaskedMaps& maps, const at::Tensor& grown, double smooth) {
  if (!(smooth > 0.0))
    throw ConfigError("[skeleton_recall_loss] smooth must be positive, got " +
                      std::to_string(smooth));
  const at::Tensor skeleton = detail::counted_companion("skeleton_recall_loss", grown, maps);
  const at::Tensor recall =
      (detail::sum_of_rows(maps.p * skeleton) + smooth) / (detail::sum_of_rows(skeleton) + smooth);
  return detail::weighted_mean(1.0 - recall, maps.of_samples);
}

MeanLoss skeleton_recall_loss(const at::Tensor& logits, const at::Tensor& target,
                              const at::Tensor& grown, const SkeletonRecallOptions& options) {
  return skeleton_recall_loss(
      masked_maps(logits, target, {.ignore = options.ignore, .of_samples = options.of_samples}),
      grown, options.smooth);
}

}  // namespace headrace::inline v1::models
