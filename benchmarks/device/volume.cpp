#include <headrace/augment/volume/nnunet_intensity_batch.h>
#include <headrace/benchmarks/device/sections.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/volume/internal/resample_task.h>
#include <headrace/loaders/volume/resample_patch.h>
#include <headrace/loaders/volume/spatial_transform.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::bench {

namespace {

using Extents = std::array<std::int64_t, 3>;
using detail::box_slack;

constexpr std::int64_t patches = 2;

/// What VolumePatches would hand on: boxes of uint8 voxels, all of the map drawn.
class Boxes final : public Source {
 public:
  explicit Boxes(const Extents& patch) {
    const SpatialTransform transform{.rotation = 1, .scaling = 1, .elastic = 1};
    for (std::int64_t i = 0; i < patches; ++i) {
      Random random(RandomKey{.seed = 1, .position = i});
      maps_.push_back(transform.draw(patch, {1000, 1000, 1000}, random));
      boxes_.push_back(reach_of(maps_.back()));
      largest_ = std::max(largest_, voxels_of(boxes_.back().shape()));
      moves_ = std::max(moves_, static_cast<std::int64_t>(maps_.back().displacement.size()));
    }
  }

  std::string name() const override { return "boxes"; }
  std::int64_t size() const override { return patches; }
  Schema fields() const override {
    return {FieldSpec::ragged("image", DType::uint8, largest_ + box_slack),
            FieldSpec::ragged("label", DType::uint8, largest_ + box_slack),
            FieldSpec::fixed(PatchFields::map, DType::uint8,
                             Shape{static_cast<std::int64_t>(sizeof(detail::PatchMap))}),
            FieldSpec::ragged(PatchFields::moves, DType::float32, moves_),
            FieldSpec::fixed(PatchFields::values, DType::float32, Shape{1, 2})};
  }
  void read(std::int64_t index, Sample& sample) const override {
    const auto at = static_cast<std::size_t>(index);
    const SpatialMap& map = maps_[at];
    const VolumeIndex shape = boxes_[at].shape();
    fill(sample, "image", voxels_of(shape), 255);
    fill(sample, "label", voxels_of(shape), 1);
    const detail::PatchMap made = detail::patch_map(map, boxes_[at]);
    const Shape bytes{static_cast<std::int64_t>(sizeof made)};
    std::memcpy(sample.make(PatchFields::map, DType::uint8, bytes).raw(), &made, sizeof made);
    const Shape count{static_cast<std::int64_t>(map.displacement.size())};
    std::ranges::copy(map.displacement,
                      sample.make(PatchFields::moves, DType::float32, count).data<float>());
    float* values = sample.make(PatchFields::values, DType::float32, Shape{1, 2}).data<float>();
    values[0] = 1.0F / 64;
    values[1] = -2.0F;
  }

 private:
  static void fill(Sample& sample, const char* field, std::int64_t voxels, unsigned mask) {
    Tensor& box = sample.make(field, DType::uint8, Shape{voxels + box_slack});
    std::uint32_t state = 1;
    for (std::uint8_t& voxel : box.values<std::uint8_t>()) {
      state = state * 1664525U + 1013904223U;
      voxel = static_cast<std::uint8_t>(state >> 24 & mask);
    }
  }

  std::vector<SpatialMap> maps_;
  std::vector<VolumeBox> boxes_;
  std::int64_t largest_ = 0;
  std::int64_t moves_ = 1;
};

NnUNetIntensity everything() {
  NnUNetIntensity op;
  for (double* p :
       {&op.noise.p, &op.blur.p, &op.brightness.p, &op.contrast.p, &op.low_resolution.p,
        &op.gamma_inverted.p, &op.gamma.p, &op.blur.channel_p, &op.low_resolution.channel_p})
    *p = 1;
  return op;
}

Held held_boxes(const Bench& bench, const Extents& patch, const NnUNetIntensity& op) {
  return hold(
      Pipeline::from(std::make_shared<const Boxes>(patch))
          .order(Sequential{})
          .then(DrawNnUNetIntensity{.augment = op, .shape = {1, patch[0], patch[1], patch[2]}})
          .batch({.size = patches}),
      bench);
}

/// Milliseconds of one call.
Measured milliseconds_of(const Bench& bench, std::string name, std::size_t bytes,
                         std::function<void()> work) {
  const int times = bench.extent.times(bytes);
  return {std::move(name), [&side = bench.side, times, work = std::move(work)] {
            return 1e3 * side.seconds_of_one(times, work);
          }};
}

/// A batch whose boxes become patches again and again, which are then augmented.
std::function<void()> work_on(const Bench& bench, Batch& batch, const Extents& patch,
                              const NnUNetIntensity* op) {
  const ResamplePatches resample{{.patch = patch}};
  return [&bench, &batch, resample, op, image = batch["image"], label = batch["label"],
          plans = batch["image_intensity"]] {
    batch.set("image", image);
    batch.set("label", label);
    batch.set("image_intensity", plans);
    resample(batch, bench.side.stream());
    if (op != nullptr) ApplyNnUNetIntensity{*op}(batch, bench.side.stream());
  };
}

}  // namespace

void measure_volume(const Bench& bench) {
  const std::int64_t side = bench.extent.traffic > 0 ? 128 : 24;
  const Extents patch{side, side, side};
  const NnUNetIntensity usual;
  const NnUNetIntensity all = everything();
  Held of_usual = held_boxes(bench, patch, usual);
  Held of_all = held_boxes(bench, patch, all);
  const auto voxels = static_cast<std::size_t>(patches * side * side * side);
  const std::size_t bytes =
      of_all.batch["image"].bytes() + of_all.batch["label"].bytes() + voxels * (sizeof(float) + 1);
  const Memory from = bench.side.here(bytes / 2);
  const Memory to = bench.side.here(bytes / 2);
  const auto times = compare_measured(
      {milliseconds_of(bench, copy_name, bytes,
                       [&] {
                         bench.side.copy(to.data(), from.data(), bytes / 2, Way::on_device,
                                         bench.side.stream());
                       }),
       milliseconds_of(bench, "spatial", bytes, work_on(bench, of_all.batch, patch, nullptr)),
       milliseconds_of(bench, "spatial, nnU-Net's intensity", bytes,
                       work_on(bench, of_usual.batch, patch, &usual)),
       milliseconds_of(bench, "spatial, all of the intensity drawn", bytes,
                       work_on(bench, of_all.batch, patch, &all))},
      bench.extent.repeats);
  const std::string each = std::to_string(side);
  bench.report.add(
      "volume patches, 2 x " + each + " x " + each + " x " + each +
          ", image and label from uint8, turned, scaled and bent (" + in_megabytes(bytes) + ")",
      "ms", times, copy_name, {std::nullopt, std::nullopt, std::nullopt, median_below(1.3)});
}

}  // namespace headrace::inline v1::bench
