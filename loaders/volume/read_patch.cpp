// What VolumePatches draws for a sample, and what it reads for that.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/detail/case/case_set.h>
#include <headrace/loaders/volume/detail/voxel/box_values.h>
#include <headrace/loaders/volume/internal/resample_task.h>
#include <headrace/loaders/volume/volume_patches.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace headrace::inline v1 {

/// A patch before it is read.
struct VolumePatches::Drawn {
  explicit Drawn(const RandomKey& key) : random(key) {}

  Random random;
  bool foreground = false;  ///< the middle is a voxel of a class
  std::array<std::int64_t, 3> middle{};
  SpatialMap map{};
  VolumeBox box{};
};

namespace {

template <class T>
std::array<std::byte, 8> nearest_bytes(double value) {
  const double least = std::numeric_limits<T>::lowest();
  const double most = std::numeric_limits<T>::max();
  const auto stored = static_cast<T>(std::nearbyint(std::clamp(value, least, most)));
  std::array<std::byte, 8> out{};
  std::memcpy(out.data(), &stored, sizeof stored);
  return out;
}

/// Of the dtypes that boxes are cut from.
std::array<std::byte, 8> stored_value(DType dtype, double value) {
  switch (dtype) {
    case DType::uint8:
      return nearest_bytes<std::uint8_t>(value);
    case DType::int16:
      return nearest_bytes<std::int16_t>(value);
    case DType::uint16:
      return nearest_bytes<std::uint16_t>(value);
    default: {
      const auto single = static_cast<float>(value);
      std::array<std::byte, 8> out{};
      std::memcpy(out.data(), &single, sizeof single);
      return out;
    }
  }
}

std::size_t voxels_in(const VolumeBox& box) {
  return static_cast<std::size_t>(voxels_of(box.shape()));
}

VolumeBox inside_of(const VolumeBox& box, const VolumeInfo& info) {
  VolumeBox inside = box;
  for (std::size_t axis = 1; axis < 4; ++axis) {
    inside.begin[axis] = std::clamp(box.begin[axis], std::int64_t{0}, info.shape[axis]);
    inside.end[axis] = std::clamp(box.end[axis], inside.begin[axis], info.shape[axis]);
  }
  return inside;
}

std::ptrdiff_t count_labels(std::span<const std::byte> labels, std::int16_t label) {
  std::ptrdiff_t count = 0;
  for (std::size_t i = 0; i < labels.size(); i += sizeof label)
    count += std::memcmp(labels.data() + i, &label, sizeof label) == 0 ? 1 : 0;
  return count;
}

}  // namespace

bool VolumePatches::draw_anywhere(const VolumeCase& of, Drawn& drawn, bool may_wait) const {
  const VolumeIndex& shape = of.images[0]->info().shape;
  if (!of.weights) {
    drawn.middle = uniform_middle(shape, options_.patch, drawn.random);
    return true;
  }
  const WeightMap& weights = *of.weights;
  if (!may_wait && !weights.volume().cached(weights.cell_of(drawn.random))) return false;
  const VolumeIndex voxel = weights.pick_voxel(drawn.random);
  drawn.middle = clamped_middle(shape, options_.patch, {voxel[1], voxel[2], voxel[3]});
  return true;
}

bool VolumePatches::draw_middle(const VolumeCase& of, Drawn& drawn, bool may_wait) const {
  if (of.middle) {
    drawn.middle = *of.middle;
    return true;
  }
  if (!drawn.foreground) return draw_anywhere(of, drawn, may_wait);
  const PatchSampling& how = options_.sampling;
  std::vector<std::int64_t> present;
  for (std::int64_t label : of.foreground->classes()) {
    const bool wanted = how.classes.empty() ? label != 0
                                            : std::find(how.classes.begin(), how.classes.end(),
                                                        label) != how.classes.end();
    if (wanted && label != how.ignore) present.push_back(label);
  }
  if (present.empty()) return draw_anywhere(of, drawn, may_wait);
  const std::int64_t label = present[static_cast<std::size_t>(
      drawn.random.below(static_cast<std::int64_t>(present.size())))];
  if (!may_wait) {
    Random same = drawn.random;
    if (!of.label->cached(of.foreground->cell_box(of.foreground->pick(label, same)))) return false;
  }
  const VolumeIndex voxel = of.foreground->pick_voxel(*of.label, label, drawn.random);
  drawn.middle =
      clamped_middle(of.label->info().shape, options_.patch, {voxel[1], voxel[2], voxel[3]});
  return true;
}

bool VolumePatches::is_ignored(const VolumeCase& of, const Drawn& drawn) const {
  const VolumeBox inside = inside_of(drawn.box, of.label->info());
  if (inside.empty()) return true;
  const std::int64_t ignore = *options_.sampling.ignore;
  const std::size_t voxels = voxels_in(inside);
  std::vector<std::byte> labels(voxels * size_of(label_dtype_));
  detail::read_label(of, inside, label_dtype_, 0, labels.data());
  const std::ptrdiff_t ignored =
      label_dtype_ == DType::uint8
          ? std::count(labels.begin(), labels.end(), static_cast<std::byte>(ignore))
          : count_labels(labels, static_cast<std::int16_t>(ignore));
  return static_cast<double>(ignored) >
         options_.sampling.most_ignored * static_cast<double>(voxels);
}

bool VolumePatches::draw(std::int64_t index, const Origin& origin, bool may_wait,
                         Drawn& drawn) const {
  const VolumeCase& of = cases_[static_cast<std::size_t>(index)];
  // Once: what is rejected does not change the shares.
  drawn.foreground =
      options_.with_labels &&
      takes_foreground(options_.sampling, std::max<std::int64_t>(origin.position, 0), drawn.random);
  const bool rejects = !of.middle && options_.with_labels && options_.sampling.ignore.has_value() &&
                       options_.sampling.most_ignored < 1.0;
  for (int attempt = 1;; ++attempt) {
    if (!draw_middle(of, drawn, may_wait)) return false;
    drawn.map = options_.transform.draw(options_.patch, drawn.middle, drawn.random);
    drawn.box = reach_in(drawn.map, of.images[0]->info());
    if (!rejects || attempt == options_.sampling.attempts) return true;
    if (!may_wait && !of.label->cached(drawn.box)) return false;
    if (!is_ignored(of, drawn)) return true;
  }
}

void VolumePatches::fill_image(const VolumeCase& of, const Drawn& drawn, Sample& sample) const {
  const std::int64_t voxels = voxels_of(drawn.box.shape());
  Tensor& out = sample.make(options_.image, image_dtype_, {voxels * channels_ + detail::box_slack});
  const std::size_t element = size_of(image_dtype_);
  auto* to = static_cast<std::byte*>(out.raw());
  for (const detail::ChannelScale& channel : detail::channel_scales(of)) {
    const VolumeInfo& info = channel.volume->info();
    VolumeBox box = drawn.box;
    box.begin[0] = channel.channel;
    box.end[0] = channel.channel + 1;
    const double outside = options_.outside * channel.deviation + channel.mean;
    const auto rule = options_.edge ? Outside::Rule::edge : Outside::Rule::fill;
    if (info.dtype == image_dtype_) {
      channel.volume->read_box(
          box, BoxMemory::dense(to, box.shape(), element),
          {.rule = rule, .fill = stored_value(info.dtype, (outside - info.offset) / info.scale)});
    } else {
      detail::read_values({.from = *channel.volume,
                           .box = box,
                           .rule = rule,
                           .outside = static_cast<float>(outside)},
                          reinterpret_cast<float*>(to));
    }
    to += static_cast<std::size_t>(voxels) * element;
  }
  std::memset(to, 0, static_cast<std::size_t>(detail::box_slack) * element);
}

void VolumePatches::fill_label(const VolumeCase& of, const Drawn& drawn, Sample& sample) const {
  const std::int64_t voxels = voxels_of(drawn.box.shape());
  Tensor& out = sample.make(options_.label, label_dtype_, {voxels + detail::box_slack});
  const std::size_t element = size_of(label_dtype_);
  auto* to = static_cast<std::byte*>(out.raw());
  detail::read_label(of, drawn.box, label_dtype_, beyond(), to);
  std::memset(to + static_cast<std::size_t>(voxels) * element, 0,
              static_cast<std::size_t>(detail::box_slack) * element);
}

void VolumePatches::fill_map(const VolumeCase& of, const Drawn& drawn, Sample& sample) const {
  const detail::PatchMap map = detail::patch_map(drawn.map, drawn.box);
  const Shape map_shape{static_cast<std::int64_t>(sizeof map)};
  std::memcpy(sample.make(PatchFields::map, DType::uint8, map_shape).raw(), &map, sizeof map);
  const std::vector<float>& moves = drawn.map.displacement;
  Tensor& moved =
      sample.make(PatchFields::moves, DType::float32, {static_cast<std::int64_t>(moves.size())});
  std::copy(moves.begin(), moves.end(), moved.data<float>());
  auto* values = sample.make(PatchFields::values, DType::float32, {channels_, 2}).data<float>();
  for (const detail::ChannelScale& channel : detail::channel_scales(of)) {
    const bool converted = channel.volume->info().dtype != image_dtype_;  // read as values already
    *values++ = channel.scale(converted);
    *values++ = channel.offset(converted);
  }
}

bool VolumePatches::fill(std::int64_t index, Sample& sample, bool may_wait) const {
  const VolumeCase& of = cases_[static_cast<std::size_t>(index)];
  const Origin& origin = sample.origin();
  Drawn drawn({.seed = options_.seed,
               .loader = hash_name("volume patches"),
               .epoch = origin.epoch,
               .position = std::max<std::int64_t>(origin.position, 0),
               .operation = static_cast<std::uint32_t>(hash_name("patch"))});
  if (!draw(index, origin, may_wait, drawn)) return false;
  if (!may_wait) {
    for (const auto& image : of.images) {
      VolumeBox all = drawn.box;
      all.end[0] = image->info().shape[0];
      if (!image->cached(all)) return false;
    }
    if (options_.with_labels && !of.label->cached(drawn.box)) return false;
  }
  fill_image(of, drawn, sample);
  if (options_.with_labels) fill_label(of, drawn, sample);
  fill_map(of, drawn, sample);
  return true;
}

void VolumePatches::read(std::int64_t index, Sample& sample) const {
  fill(index, sample, true);
}

bool VolumePatches::read_now(std::int64_t index, Sample& sample) const {
  return fill(index, sample, false);
}

}  // namespace headrace::inline v1
