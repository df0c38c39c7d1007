#include <headrace/engine/base/error.h>
#include <headrace/models/losses/skeleton_losses.h>

#include <string>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/abs.h>

namespace headrace::inline v1::models {

namespace {

at::Tensor skeleton_of_target(const MaskedMaps& maps, const SoftSkeletonOptions& options,
                              const at::Tensor& given) {
  const at::NoGradGuard guard;
  return given.defined() ? detail::counted_companion("sheet_skeletons", given, maps)
                         : soft_skeleton(maps.truth, options);
}

}  // namespace

SheetSkeletons sheet_skeletons(const MaskedMaps& maps, const SoftSkeletonOptions& options,
                               const at::Tensor& of_target) {
  return {.p = soft_skeleton(maps.p, options),
          .truth = skeleton_of_target(maps, options, of_target)};
}

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

MeanLoss morphological_skeleton_loss(const MaskedMaps& maps, const SheetSkeletons& skeletons) {
  return detail::mean_of_counted(at::abs(skeletons.p - skeletons.truth), maps);
}

MeanLoss morphological_skeleton_loss(const at::Tensor& logits, const at::Tensor& target,
                                     const MorphologicalSkeletonOptions& options) {
  const MaskedMaps maps =
      masked_maps(logits, target, {.ignore = options.ignore, .of_samples = options.of_samples});
  return morphological_skeleton_loss(
      maps, sheet_skeletons(maps, options.skeleton, options.target_skeleton));
}

}  // namespace headrace::inline v1::models
