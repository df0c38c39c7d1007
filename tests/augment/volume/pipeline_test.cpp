// All operations on volumes in one pipeline: the same bytes on any number of threads.
#include <headrace/augment/volume/betti_targets.h>
#include <headrace/augment/volume/deep_supervision_targets.h>
#include <headrace/augment/volume/distance_transform.h>
#include <headrace/augment/volume/nnunet_intensity.h>
#include <headrace/augment/volume/patch_dropout.h>
#include <headrace/augment/volume/skeleton.h>
#include <headrace/augment/volume/slice_jitter.h>
#include <headrace/augment/volume/soft_skeleton.h>
#include <headrace/augment/volume/volume_cutout.h>
#include <headrace/engine/headrace.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include <algorithm>
#include <cstdint>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::Floats;

namespace {

constexpr std::int64_t voxels_of_volume = 6 * 18 * 21;

/// Record i is noise of that seed, its label where the noise is high.
class Volumes final : public Source {
 public:
  std::string name() const override { return "volumes"; }
  std::int64_t size() const override { return 23; }
  Schema fields() const override {
    return {FieldSpec::fixed("image", DType::float32, Shape{1, 6, 18, 21}),
            FieldSpec::fixed("label", DType::uint8, Shape{6, 18, 21})};
  }
  void read(std::int64_t index, Sample& sample) const override {
    const Floats values = test::noise_floats(voxels_of_volume, static_cast<unsigned>(index));
    auto image = sample.make("image", DType::float32, Shape{1, 6, 18, 21}).values<float>();
    std::ranges::copy(values, image.begin());
    auto label = sample.make("label", DType::uint8, Shape{6, 18, 21}).values<std::uint8_t>();
    std::ranges::transform(values, label.begin(),
                           [](float v) { return static_cast<std::uint8_t>(v > 0.5F); });
  }
};

Bytes bytes_of(int threads) {
  Loader loader = Pipeline::from(Volumes{})
                      .order(Shuffled{.seed = 7})
                      .then(NnUNetIntensity{})
                      .then(SliceJitter{.p = 0.5, .masks = {"label"}})
                      .then(VolumeCutout{.p = 0.5, .side = {2, 5}})
                      .then(PatchDropout{.p = 0.5, .cell = {2, 6, 6}})
                      .then(DistanceTransform{}, {.limit = 1})
                      .then(Skeleton{}, {.limit = 2})
                      .then(SoftSkeleton{.iterations = 1})
                      .then(BettiTargets{.side = 12})
                      .then(DeepSupervisionTargets{.factors = {{2, 2, 2}, {3, 4, 4}}})
                      .batch({.size = 4})
                      .build({.runtime = Runtime({.threads = threads})});
  Bytes all;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    for (Batch& batch : loader.epoch(epoch)) {
      for (const char* name : {"image", "label", "distance", "skeleton", "soft_skeleton", "betti",
                               "label_1", "label_2"}) {
        const Tensor field = batch[name];
        const auto* first = static_cast<const std::uint8_t*>(field.raw());
        all.insert(all.end(), first, first + field.bytes());
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("all operations on volumes give the same bytes on 1, 2 and 8 threads") {
  const Bytes one = bytes_of(1);
  CHECK(one.size() == std::size_t{2 * 23} * (voxels_of_volume * (4 + 1 + 4 + 1 + 1) + 3 * 4 +
                                             3 * 9 * 10 + 2 * 4 * 5));
  CHECK(bytes_of(2) == one);
  CHECK(bytes_of(8) == one);
}
