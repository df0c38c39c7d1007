#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/detail/resample_task.h>
#include <headrace/loaders/volume/volume_patches.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

namespace headrace::inline v1 {
namespace {

[[noreturn]] void refuse(const std::string& rule) {
  throw ConfigError("[volume patches] " + rule);
}

std::string extents(const VolumeIndex& shape) {
  return std::to_string(shape[1]) + " x " + std::to_string(shape[2]) + " x " +
         std::to_string(shape[3]);
}

bool same_extents(const VolumeIndex& a, const VolumeIndex& b) {
  return a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

std::int64_t channels_of(const VolumeCase& of) {
  std::int64_t channels = 0;
  for (const auto& image : of.images)
    channels += image->info().shape[0];
  return channels;
}

void check_label(const VolumeCase& of, const VolumePatchesOptions& options) {
  if (!of.label) {
    refuse("case " + of.name +
           " must have a label, got none; leave the labels of all out, or this case");
  }
  const VolumeInfo& label = of.label->info();
  if (label.shape[0] != 1 || !same_extents(label.shape, of.images[0]->info().shape)) {
    refuse("the label of case " + of.name + " must have 1 channel of " +
           extents(of.images[0]->info().shape) + " voxels as its image, got " +
           std::to_string(label.shape[0]) + " of " + extents(label.shape));
  }
  if (options.sampling.foreground > 0.0 && !of.foreground) {
    refuse("case " + of.name +
           " must have an index of its classes for patches around them, got none; set foreground "
           "to 0");
  }
}

void check_case(const VolumeCase& of, const VolumePatchesOptions& options, std::int64_t channels) {
  if (of.images.empty()) refuse("case " + of.name + " must have an image, got none");
  const VolumeIndex& shape = of.images[0]->info().shape;
  for (const auto& image : of.images) {
    if (!same_extents(image->info().shape, shape)) {
      refuse("all images of case " + of.name + " must have " + extents(shape) + " voxels, got " +
             extents(image->info().shape) + " in " + image->volume().name());
    }
  }
  if (channels_of(of) != channels) {
    refuse("every case must have " + std::to_string(channels) + " channels as the first, got " +
           std::to_string(channels_of(of)) + " in case " + of.name);
  }
  for (const std::vector<double>* numbers : {&of.means, &of.deviations}) {
    if (!numbers->empty() && static_cast<std::int64_t>(numbers->size()) != channels) {
      refuse("case " + of.name + " must have a mean and a deviation for each of " +
             std::to_string(channels) + " channels, got " + std::to_string(numbers->size()));
    }
  }
  for (double mean : of.means)
    if (!std::isfinite(mean)) refuse("means of case " + of.name + " must be finite");
  for (double deviation : of.deviations) {
    if (!(deviation > 0.0) || !std::isfinite(deviation))
      refuse("deviations of case " + of.name + " must be finite and above 0");
  }
  if (options.with_labels) check_label(of, options);
}

/// uint8 where all labels are, and what lies outside is; else int16.
DType label_dtype(const std::vector<std::shared_ptr<const CachedVolume>>& labels,
                  const VolumePatchesOptions& options) {
  const std::int64_t beyond = options.sampling.ignore.value_or(options.outside_label);
  if (beyond < -32768 || beyond > 32767) {
    refuse("the ignored label and the one outside must be from -32768 to 32767, got " +
           std::to_string(beyond));
  }
  const bool bytes = std::all_of(labels.begin(), labels.end(), [](const auto& label) {
    const VolumeInfo& info = label->info();
    return info.dtype == DType::uint8 && info.scale == 1.0 && info.offset == 0.0;
  });
  return bytes && beyond >= 0 && beyond <= 255 ? DType::uint8 : DType::int16;
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
  if (cases_.empty()) refuse("there must be a case, got none");
  for (std::int64_t extent : options_.patch) {
    if (extent < 1 || extent > 4096)
      refuse("a patch must have 1 to 4096 voxels along each axis, got " + std::to_string(extent));
  }
  if (!std::isfinite(options_.outside))
    refuse("outside must be finite, got " + std::to_string(options_.outside));
  if (options_.image.empty() || (options_.with_labels && options_.image == options_.label))
    refuse("image and label must have names of their own, got '" + options_.image + "' and '" +
           options_.label + "'");
  options_.sampling.check();
  options_.transform.check();
  channels_ = channels_of(cases_.front());
  std::vector<std::shared_ptr<const CachedVolume>> images;
  std::vector<std::shared_ptr<const CachedVolume>> labels;
  VolumeIndex most{};
  for (const VolumeCase& of : cases_) {
    check_case(of, options_, channels_);
    images.insert(images.end(), of.images.begin(), of.images.end());
    if (options_.with_labels) labels.push_back(of.label);
    for (std::size_t axis = 0; axis < 4; ++axis)
      most[axis] = std::max(most[axis], of.images[0]->info().shape[axis]);
  }
  image_dtype_ =
      common(images, {DType::uint8, DType::int16, DType::uint16, DType::float32}, DType::float32);
  if (options_.with_labels) label_dtype_ = label_dtype(labels, options_);
  const auto reach = options_.transform.largest_reach(options_.patch);
  largest_box_ = 1;
  for (std::size_t axis = 0; axis < 3; ++axis)
    largest_box_ *= std::min(reach[axis], most[axis + 1] + 2);
  const std::int64_t bytes =
      largest_box_ *
      static_cast<std::int64_t>(std::max(
          size_of(image_dtype_) * static_cast<std::size_t>(channels_), size_of(label_dtype_)));
  if (bytes > (std::int64_t{1} << 31) - 64) {
    refuse("the voxels that a patch is cut from must take less than 2 GiB, got " +
           std::to_string(bytes >> 20) + " MiB; take a smaller patch or milder transforms");
  }
  if (options_.transform.elastic > 0.0) {
    const auto knots = options_.transform.knots(options_.patch);
    if (knots[2] > detail::most_knots)
      refuse("elastic_sigma must be larger for a patch of " + std::to_string(options_.patch[2]) +
             " voxels along x, got " + std::to_string(options_.transform.elastic_sigma));
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
  std::size_t decoding = 0;    // of a block
  std::size_t converting = 0;  // bytes a voxel of the box, beside what is kept
  const auto look_at = [&](const VolumeInfo& info, std::size_t more) {
    converting = std::max(converting, size_of(info.dtype) + more);
  };
  for (const VolumeCase& of : cases_) {
    for (const auto& image : of.images) {
      decoding = std::max(decoding, image->volume().working_bytes());
      if (image->info().dtype != image_dtype_) look_at(image->info(), sizeof(float));
    }
    if (!options_.with_labels) continue;
    decoding = std::max(decoding, of.label->volume().working_bytes());
    const bool plain = label_dtype_ == DType::uint8;
    if (!plain || options_.sampling.ignore)
      look_at(of.label->info(), plain ? 0 : 2 * sizeof(float) + sizeof(std::int16_t));
  }
  const auto box = static_cast<std::size_t>(largest_box_);
  std::size_t voxel = converting + static_cast<std::size_t>(channels_) * size_of(image_dtype_);
  if (options_.with_labels) voxel += size_of(label_dtype_);
  // A map's bounds are those of its knots at half the spacing: twice, four and eight times as many.
  return decoding + box * voxel +
         std::size_t{16} * static_cast<std::size_t>(most_moves_) * sizeof(float);
}

std::size_t VolumePatches::resident_bytes() const {
  std::set<const BlockCache*> caches;
  std::size_t bytes = cases_.capacity() * sizeof(VolumeCase);
  const auto add = [&](const CachedVolume& volume) {
    bytes += volume.volume().resident_bytes();
    if (caches.insert(&volume.cache()).second) bytes += volume.cache().most_bytes();
  };
  for (const VolumeCase& of : cases_) {
    for (const auto& image : of.images)
      add(*image);
    if (of.label) add(*of.label);
    if (of.foreground) bytes += of.foreground->resident_bytes();
  }
  return bytes;
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
