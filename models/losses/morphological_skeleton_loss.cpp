#include <headrace/models/losses/morphological_skeleton_loss.h>

#include <ATen/ops/abs.h>

namespace headrace::inline v1::models {

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
