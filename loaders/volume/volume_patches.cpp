#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/detail/case/case_set.h>
#include <headrace/loaders/volume/internal/resample_task.h>
#include <headrace/loaders/volume/volume_patches.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace headrace::inline v1 {
namespace {

constexpr const char* volume_patches_name = "volume patches";

[[noreturn]] void refuse_patches(const std::string& rule) {
  throw ConfigError("[volume patches] " + rule);
}

void check_sampling(const VolumeCase& of, const VolumePatchesOptions& options) {
  if (options.with_labels && options.sampling.foreground > 0.0 && !of.foreground) {
    refuse_patches(
        "case " + of.name +
        " must have an index of its classes for patches around them, got none; set foreground "
        "to 0");
  }
}

/// The dtype that all have, where patches are cut from it; else `otherwise`.
template <class Volumes>
DType common(const Volumes& volumes, std::initializer_list<DType> taken, DType otherwise) {
  const DType first = volumes.front()->info().dtype;
  const bool same = std::all_of(volumes.begin(), volumes.end(),
                                [&](const auto& volume) { return volume->info().dtype == first; });
  const bool known = std::find(taken.begin(), taken.end(), first) != taken.end();
  return same && known ? first : otherwise;
}

}  // namespace

VolumePatches::VolumePatches(std::vector<VolumeCase> cases, VolumePatchesOptions options)
    : cases_(std::move(cases)), options_(std::move(options)) {
  detail::check_cases(volume_patches_name, cases_, options_.with_labels);
  detail::check_patch(volume_patches_name, options_.patch);
  if (!std::isfinite(options_.outside))
    refuse_patches("outside must be finite, got " + std::to_string(options_.outside));
  if (options_.image.empty() || (options_.with_labels && options_.image == options_.label))
    refuse_patches("image and label must have names of their own, got '" + options_.image +
                   "' and '" + options_.label + "'");
  options_.sampling.check();
  options_.transform.check();
  channels_ = detail::channels_of(cases_.front());
  std::vector<std::shared_ptr<const CachedVolume>> images;
  VolumeIndex most{};
  for (const VolumeCase& of : cases_) {
    check_sampling(of, options_);
    images.insert(images.end(), of.images.begin(), of.images.end());
    for (std::size_t axis = 0; axis < 4; ++axis)
      most[axis] = std::max(most[axis], of.images[0]->info().shape[axis]);
  }
  image_dtype_ =
      common(images, {DType::uint8, DType::int16, DType::uint16, DType::float32}, DType::float32);
  if (options_.with_labels)
    label_dtype_ = detail::label_dtype(volume_patches_name, cases_, beyond());
  const auto reach = options_.transform.largest_reach(options_.patch);
  largest_box_ = 1;
  for (std::size_t axis = 0; axis < 3; ++axis)
    largest_box_ *= std::min(reach[axis], most[axis + 1] + 2);
  const std::int64_t bytes =
      largest_box_ *
      static_cast<std::int64_t>(std::max(
          size_of(image_dtype_) * static_cast<std::size_t>(channels_), size_of(label_dtype_)));
  if (bytes > (std::int64_t{1} << 31) - 64) {
    refuse_patches("the voxels that a patch is cut from must take less than 2 GiB, got " +
                   std::to_string(bytes >> 20) + " MiB; take a smaller patch or milder transforms");
  }
  if (options_.transform.elastic > 0.0) {
    const auto knots = options_.transform.knots(options_.patch);
    if (knots[2] > detail::most_knots)
      refuse_patches("elastic_sigma must be larger for a patch of " +
                     std::to_string(options_.patch[2]) + " voxels along x, got " +
                     std::to_string(options_.transform.elastic_sigma));
    most_moves_ = std::int64_t{3} * knots[0] * knots[1] * knots[2];
  }
}

VolumePatches::~VolumePatches() = default;

std::string VolumePatches::name() const {
  return "patches of " + std::to_string(cases_.size()) + " volumes";
}

std::int64_t VolumePatches::size() const {
  return static_cast<std::int64_t>(cases_.size());
}

Schema VolumePatches::fields() const {
  Schema out;
  out.put(FieldSpec::ragged(options_.image, image_dtype_,
                            largest_box_ * channels_ + detail::box_slack));
  if (options_.with_labels)
    out.put(FieldSpec::ragged(options_.label, label_dtype_, largest_box_ + detail::box_slack));
  out.put(FieldSpec::fixed(PatchFields::map, DType::uint8,
                           {static_cast<std::int64_t>(sizeof(detail::PatchMap))}));
  out.put(FieldSpec::ragged(PatchFields::moves, DType::float32,
                            std::max<std::int64_t>(most_moves_, 1)));
  out.put(FieldSpec::fixed(PatchFields::values, DType::float32, {channels_, 2}));
  return out;
}

std::size_t VolumePatches::working_bytes(std::int64_t) const {
  return largest_working_bytes();
}

std::size_t VolumePatches::largest_working_bytes() const {
  std::size_t voxel = static_cast<std::size_t>(channels_) * size_of(image_dtype_);
  // Once more while it is counted what is to be ignored.
  if (options_.with_labels)
    voxel += size_of(label_dtype_) * (options_.sampling.ignore ? std::size_t{2} : std::size_t{1});
  // A map's bounds are those of its knots at half the spacing: twice, four and eight times as many.
  return detail::decoding_bytes(cases_, options_.with_labels) +
         static_cast<std::size_t>(largest_box_) * voxel +
         std::size_t{16} * static_cast<std::size_t>(most_moves_) * sizeof(float);
}

std::size_t VolumePatches::resident_bytes() const {
  return detail::resident_bytes(cases_);
}

std::string VolumePatches::origin(std::int64_t index) const {
  return cases_[static_cast<std::size_t>(index)].name;
}

ResamplePatch VolumePatches::resample(LabelSampling labels) const {
  return {.patch = options_.patch,
          .labels = labels,
          .image = options_.image,
          .label = options_.with_labels ? options_.label : std::string()};
}

}  // namespace headrace::inline v1
