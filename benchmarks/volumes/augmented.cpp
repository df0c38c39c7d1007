#include <headrace/augment/volume/nnunet_intensity.h>
#include <headrace/benchmarks/volumes/augmented.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/expanded.h>

#include <memory>
#include <utility>

namespace headrace::inline v1::bench {

Augmented augmented_of(const std::string& word) {
  if (word == "nnunet") return Augmented::nnunet;
  if (word == "surface") return Augmented::surface;
  if (word == "spatial") return Augmented::spatial;
  if (word == "copied") return Augmented::copied;
  throw ConfigError("[benchmark] work must be nnunet, surface, spatial or copied, got " + word);
}

SpatialTransform transform_of(Augmented what) {
  switch (what) {
    case Augmented::nnunet:
      return SpatialTransform::nnunet();
    case Augmented::surface:
      return {.rotation = 1.0,
              .scaling = 1.0,
              .elastic = 1.0,
              .elastic_sigma = 8.0,
              .elastic_voxels = {4.0, 6.0},
              .mirror = {0.5, 0.5, 0.5}};
    case Augmented::spatial:
      return {.rotation = 1.0, .scaling = 1.0};
    case Augmented::copied:
      break;
  }
  return {};
}

AugmentedLoader::AugmentedLoader(const Work& work, const AugmentedOptions& options) {
  VolumeCase of = cached_case(work, options.cache_share);
  cache_ = std::shared_ptr<BlockCache>(of.label, &of.label->cache());
  VolumePatchesOptions patches{.patch = work.patch,
                               .transform = transform_of(options.what),
                               .seed = 1,
                               .with_labels = options.with_labels};
  patches.sampling.forced = PatchSampling::Forced::by_row;
  patches.sampling.batch = work.batch;
  const auto source = std::make_shared<const VolumePatches>(std::vector{std::move(of)}, patches);
  Pipeline pipeline = Pipeline::from(std::shared_ptr<const Source>(
                                         std::make_shared<const Expanded>(source, options.patches)))
                          .then(source->resample());
  if (options.what == Augmented::nnunet) pipeline = std::move(pipeline).then(NnUNetIntensity{});
  if (options.what == Augmented::surface)
    pipeline = std::move(pipeline).then(VolumeNoise{.p = 1}).then(VolumeGamma{.p = 1});
  loader_ = std::make_shared<Loader>(
      std::move(pipeline)
          .batch({.size = work.batch})
          .build({.prefetch = options.prefetch, .runtime = Runtime({.threads = work.threads})}));
}

double AugmentedLoader::epoch(const std::function<void()>& on_batch) {
  double patches = 0;
  for (Batch& batch : loader_->epoch(next_++)) {
    patches += static_cast<double>(batch.size());
    if (on_batch) on_batch();
  }
  return patches;
}

}  // namespace headrace::inline v1::bench
