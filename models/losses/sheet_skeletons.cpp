#include <headrace/models/losses/sheet_skeletons.h>

#include <ATen/core/grad_mode.h>

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

}  // namespace headrace::inline v1::models
