#include <headrace/engine/base/error.h>
#include <headrace/models/losses/cldice_loss.h>

#include <string>

namespace headrace::inline v1::models {

MeanLoss cldice_loss(const MaskedMaps& maps, const SheetSkeletons& skeletons, double smooth) {
  if (!(smooth > 0.0))
    throw ConfigError("[cldice_loss] smooth must be positive, got " + std::to_string(smooth));
  const auto share = [smooth](const at::Tensor& skeleton, const at::Tensor& mask) {
    return (detail::sum_of_rows(skeleton * mask) + smooth) /
           (detail::sum_of_rows(skeleton) + smooth);
  };
  const at::Tensor precision = share(skeletons.p, maps.truth);
  const at::Tensor sensitivity = share(skeletons.truth, maps.p);
  const at::Tensor losses = 1.0 - 2.0 * precision * sensitivity / (precision + sensitivity);
  return detail::weighted_mean(losses, maps.of_samples);
}

MeanLoss cldice_loss(const at::Tensor& logits, const at::Tensor& target,
                     const ClDiceOptions& options) {
  const MaskedMaps maps =
      masked_maps(logits, target, {.ignore = options.ignore, .of_samples = options.of_samples});
  return cldice_loss(maps, sheet_skeletons(maps, options.skeleton, options.target_skeleton),
                     options.smooth);
}

}  // namespace headrace::inline v1::models
