// The entry `spatial` of a list `augment:`.
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/augment/operation.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/loaders/volume/block_cache.h>
#include <headrace/loaders/volume/volume_patches.h>
#include <headrace/tests/apps/refusal.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/loaders/volume/made_volume.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::contains;

namespace {

/// A volume of 20 x 24 x 28 voxels.
template <class T>
std::shared_ptr<const CachedVolume> cached(const std::shared_ptr<BlockCache>& cache,
                                           std::function<T(const VolumeIndex&)> voxel) {
  const VolumeInfo info{.shape = {1, 20, 24, 28}, .block = {1, 8, 8, 8}};
  return std::make_shared<const CachedVolume>(
      std::make_shared<const test::MadeVolume<T>>(info, std::move(voxel)), cache);
}

/// Patches of a volume whose values and labels lie in waves, cut out as a list says.
std::shared_ptr<const VolumePatches> patches_of(const app::AugmentList& list) {
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  VolumeCase of{.name = "case",
                .images = {cached<std::int16_t>(cache,
                                                [](const VolumeIndex& at) {
                                                  return static_cast<std::int16_t>(
                                                      (at[1] * 7 + at[2] * 5 + at[3] * 3) % 40);
                                                })},
                .label = cached<std::uint8_t>(cache, [](const VolumeIndex& at) {
                  return static_cast<std::uint8_t>((at[1] + at[2]) / 6 % 3);
                })};
  const std::optional<app::SpatialEntry> spatial = app::spatial_of(list);
  return std::make_shared<const VolumePatches>(
      std::vector<VolumeCase>(6, of),
      VolumePatchesOptions{.patch = {8, 10, 12},
                           .sampling = {.foreground = 0.0},
                           .transform = spatial ? spatial->transform : SpatialTransform{},
                           .seed = 5});
}

/// Images and labels of two epochs, patches made in samples or in batches.
std::string fed(const std::string& written, bool in_batches) {
  const app::AugmentList list = app::augment_list(written);
  const std::shared_ptr<const VolumePatches> patches = patches_of(list);
  const std::optional<app::SpatialEntry> spatial = app::spatial_of(list);
  const ResamplePatch resample =
      patches->resample(spatial ? spatial->labels : LabelSampling::one_hot);
  const app::AugmentSteps steps = app::make_augment_steps(
      app::without_spatial(list), {.fields = resample.schema(patches->fields()),
                                   .masks = {"label"},
                                   .patch_on_device = in_batches});
  Pipeline pipeline = Pipeline::from(patches).order(Shuffled{.seed = 2});
  if (!in_batches) pipeline = std::move(pipeline).then(resample);
  pipeline = steps.before_batch(std::move(pipeline)).batch({.size = 4});
  if (in_batches) pipeline = std::move(pipeline).then(ResamplePatches{resample});
  Loader loader = steps.after_batch(std::move(pipeline)).build();
  std::string bytes;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (Batch& batch : loader.epoch(epoch)) {
      for (const char* name : {"image", "label"}) {
        const Tensor field = batch[name];
        bytes.append(static_cast<const char*>(field.raw()), field.bytes());
      }
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("spatial says how patches are cut out, by default as nnU-Net does") {
  const auto of = [](const std::string& list) { return app::spatial_of(app::augment_list(list)); };
  CHECK_FALSE(of("[volume_noise]"));
  CHECK_FALSE(of("[]"));
  CHECK(of("[spatial]")->transform == SpatialTransform::nnunet());
  CHECK(of("[spatial, nnunet_intensity]")->labels == LabelSampling::one_hot);
  CHECK(of("[{spatial: {flat: true}}]")->transform == SpatialTransform::nnunet(true));
  const std::optional<app::SpatialEntry> all = of(
      "[{spatial: {rotation: 0.1, angles: [-20, 10], turns: one_axis, scaling: 0.3, scales: [0.6, "
      "1.2], same_scale: false, anisotropy: 0.4, anisotropies: [0.9, 1.1], elastic: 0.5, "
      "elastic_sigma: 7, elastic_voxels: [2, 3], mirror: [0, 0.25, 0.75], flat: true, labels: "
      "nearest}}]");
  CHECK(all->labels == LabelSampling::nearest);
  CHECK(all->transform == SpatialTransform{.rotation = 0.1,
                                           .angles = {-20.0, 10.0},
                                           .turns = SpatialTransform::Turns::one_axis,
                                           .scaling = 0.3,
                                           .scales = {0.6, 1.2},
                                           .same_scale = false,
                                           .anisotropy = 0.4,
                                           .anisotropies = {0.9, 1.1},
                                           .elastic = 0.5,
                                           .elastic_sigma = 7.0,
                                           .elastic_voxels = {2.0, 3.0},
                                           .mirror = {0.0, 0.25, 0.75},
                                           .flat = true});
}

TEST_CASE("spatial must be the first entry, and is no step of a pipeline") {
  const auto said = [](const std::string& list) {
    return test::refusal([&] { app::spatial_of(app::augment_list(list)); });
  };
  CHECK(contains(said("[volume_noise, spatial]"),
                 "[config] augment:1:25: entry \"spatial\" of augment: must be the first entry"));
  CHECK(
      contains(said("[spatial, spatial]"), "augment:1:20: entry \"spatial\" of augment: must be"));
  CHECK(contains(said("[{spatial: {scales: [1.4, 0.7]}}]"),
                 "[config] augment:1:12: entry \"spatial\" of augment: [spatial transform] scales "
                 "must rise"));
  CHECK(contains(test::refusal([] { app::make_augment_steps(app::augment_list("[spatial]"), {}); }),
                 "entry \"spatial\" of augment: is for volumes, whose patches are cut out as they "
                 "are read (kind: segmentation with data.train.source: volumes)"));
  const app::AugmentList rest = app::without_spatial(app::augment_list("[spatial, volume_noise]"));
  REQUIRE(rest.size() == 1);
  CHECK(rest.front().operation->name == "volume_noise");
}

TEST_CASE("a list on patches gives the same bytes whether samples or batches become patches") {
  const std::string intensity = "{nnunet_intensity: {noise: 0.8, blur: 0.5, gamma: 0.5}}";
  const std::string turned = "{spatial: {rotation: 0.8, elastic: 0.5, labels: nearest}}";
  const std::string plain = fed("[]", false);
  const std::string all = fed("[" + turned + ", " + intensity + "]", false);
  CHECK((fed("[]", true) == plain));
  CHECK((fed("[" + turned + ", " + intensity + "]", true) == all));
  CHECK_FALSE((all == plain));
  CHECK_FALSE((fed("[" + turned + "]", true) == all));
  CHECK_FALSE((fed("[spatial, " + intensity + "]", true) == all));
}
