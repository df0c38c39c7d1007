// What the operations on volumes take, each on one core, for a patch of the surface job.
#include <headrace/augment/volume/betti_targets.h>
#include <headrace/augment/volume/deep_supervision_targets.h>
#include <headrace/augment/volume/distance_transform.h>
#include <headrace/augment/volume/nnunet_intensity.h>
#include <headrace/augment/volume/patch_dropout.h>
#include <headrace/augment/volume/skeleton.h>
#include <headrace/augment/volume/slice_jitter.h>
#include <headrace/augment/volume/soft_skeleton.h>
#include <headrace/augment/volume/volume_cutout.h>
#include <headrace/benchmarks/harness/report.h>

#include <cmath>
#include <concepts>
#include <memory>
#include <string>

using namespace headrace;
using namespace headrace::bench;

namespace {

constexpr std::int64_t depth = 72;
constexpr std::int64_t side = 136;

/// Normal values, and a bent surface three voxels thick: 4 % of the voxels.
std::shared_ptr<Sample> make_patch() {
  auto sample = std::make_shared<Sample>();
  Random random(RandomKey{.seed = 1});
  for (float& value :
       sample->make("image", DType::float32, Shape{1, depth, side, side}).values<float>())
    value = static_cast<float>(random.normal());
  auto label = sample->make("label", DType::uint8, Shape{depth, side, side}).values<std::uint8_t>();
  for (std::int64_t i = 0; i < depth * side * side; ++i) {
    const auto z = static_cast<double>(i / (side * side));
    const auto y = static_cast<double>(i / side % side);
    const auto x = static_cast<double>(i % side);
    const double height = 36 + 12 * std::sin(x / 25) * std::cos(y / 20);
    label[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(std::abs(z - height) < 1.5);
  }
  return sample;
}

template <class Op>
Contender of(const std::string& name, const Op& op, const std::shared_ptr<Sample>& patch) {
  auto position = std::make_shared<std::int64_t>(0);
  return {name, [op, patch, position] {
            Random random(RandomKey{.position = (*position)++});
            if constexpr (std::invocable<const Op&, Sample&, Random&>) {
              op(*patch, random);
            } else {
              op(*patch);
            }
            return 1.0;
          }};
}

NnUNetIntensity everything() {
  NnUNetIntensity op;
  for (double* p :
       {&op.noise.p, &op.blur.p, &op.blur.channel_p, &op.brightness.p, &op.contrast.p,
        &op.low_resolution.p, &op.low_resolution.channel_p, &op.gamma_inverted.p, &op.gamma.p})
    *p = 1;
  return op;
}

}  // namespace

int main(int argc, char** argv) {
  Options options("volume_operations_benchmark", "What do operations on volumes take?");
  options.add("repeats", "21", "rounds in turn").add_json().take_words({"repeats"});
  options.parse(argc, argv);
  Report report("volume_operations_benchmark", options);
  const auto patch = make_patch();
  const DeepSupervisionTargets surface{.rule = DeepSupervisionTargets::Rule::surface, .ignore = 2};
  const auto rates = compare(
      {of("noise", VolumeNoise{.p = 1}, patch),
       of("blur", VolumeBlur{.p = 1, .channel_p = 1}, patch),
       of("brightness", VolumeBrightness{.p = 1, .factor = {1, 1}}, patch),
       of("contrast", VolumeContrast{.p = 1, .factor = {1, 1}}, patch),
       of("low resolution", VolumeLowResolution{.p = 1, .channel_p = 1}, patch),
       of("gamma", VolumeGamma{.p = 1}, patch), of("nnU-Net's, all drawn", everything(), patch),
       of("slice jitter with a mask", SliceJitter{.p = 1, .masks = {"label"}}, patch),
       of("distance", DistanceTransform{}, patch),
       of("distance up to 2", DistanceTransform{.most = 2}, patch),
       of("skeleton", Skeleton{}, patch), of("soft skeleton", SoftSkeleton{}, patch),
       of("Betti numbers of 48 cubed", BettiTargets{}, patch),
       of("Betti numbers", BettiTargets{.side = side}, patch),
       of("targets, nearest", DeepSupervisionTargets{}, patch),
       of("targets, surface", surface, patch)},
      options.number("repeats"));
  report.add("one channel of 72 x 136 x 136", "patches/s", rates, rates[0].name);
  return 0;
}
