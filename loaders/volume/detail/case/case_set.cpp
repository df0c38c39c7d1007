#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/detail/case/case_set.h>
#include <headrace/loaders/volume/detail/voxel/box_values.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace headrace::inline v1::detail {
namespace {

[[noreturn]] void refuse(const std::string& who, const std::string& rule) {
  throw ConfigError("[" + who + "] " + rule);
}

std::string extents(const VolumeIndex& shape) {
  return std::to_string(shape[1]) + " x " + std::to_string(shape[2]) + " x " +
         std::to_string(shape[3]);
}

bool same_extents(const VolumeIndex& a, const VolumeIndex& b) {
  return a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

void check_label(const std::string& who, const VolumeCase& of) {
  if (!of.label) {
    refuse(who, "case " + of.name +
                    " must have a label, got none; leave the labels of all out, or this case");
  }
  const VolumeInfo& label = of.label->info();
  if (label.shape[0] != 1 || !same_extents(label.shape, of.images[0]->info().shape)) {
    refuse(who, "the label of case " + of.name + " must have 1 channel of " +
                    extents(of.images[0]->info().shape) + " voxels as its image, got " +
                    std::to_string(label.shape[0]) + " of " + extents(label.shape));
  }
}

void check_values(const std::string& who, const VolumeCase& of, std::int64_t channels) {
  for (const std::vector<double>* numbers : {&of.means, &of.deviations}) {
    if (!numbers->empty() && static_cast<std::int64_t>(numbers->size()) != channels) {
      refuse(who, "case " + of.name + " must have a mean and a deviation for each of " +
                      std::to_string(channels) + " channels, got " +
                      std::to_string(numbers->size()));
    }
  }
  for (double mean : of.means)
    if (!std::isfinite(mean)) refuse(who, "means of case " + of.name + " must be finite");
  for (double deviation : of.deviations) {
    if (!(deviation > 0.0) || !std::isfinite(deviation))
      refuse(who, "deviations of case " + of.name + " must be finite and above 0");
  }
}

void check_case(const std::string& who, const VolumeCase& of, std::int64_t channels) {
  if (of.images.empty()) refuse(who, "case " + of.name + " must have an image, got none");
  const VolumeIndex& shape = of.images[0]->info().shape;
  for (const auto& image : of.images) {
    if (!same_extents(image->info().shape, shape)) {
      refuse(who, "all images of case " + of.name + " must have " + extents(shape) +
                      " voxels, got " + extents(image->info().shape) + " in " +
                      image->volume().name());
    }
  }
  if (channels_of(of) != channels) {
    refuse(who, "every case must have " + std::to_string(channels) +
                    " channels as the first, got " + std::to_string(channels_of(of)) + " in case " +
                    of.name);
  }
  if (of.weights && !same_extents(of.weights->volume().info().shape, shape)) {
    refuse(who, "the weights of case " + of.name + " must have " + extents(shape) +
                    " voxels as its image, got " + extents(of.weights->volume().info().shape));
  }
  check_values(who, of, channels);
}

/// Calls use() for the volumes of a case.
template <class Use>
void for_volumes(const VolumeCase& of, bool labelled, const Use& use) {
  for (const auto& image : of.images)
    use(*image);
  if (labelled && of.label) use(*of.label);
  if (of.weights) use(of.weights->volume());
}

}  // namespace

std::int64_t channels_of(const VolumeCase& of) {
  std::int64_t channels = 0;
  for (const auto& image : of.images)
    channels += image->info().shape[0];
  return channels;
}

void check_cases(const std::string& who, Cases cases, bool labelled) {
  if (cases.empty()) refuse(who, "there must be a case, got none");
  const std::int64_t channels = channels_of(cases.front());
  for (const VolumeCase& of : cases) {
    check_case(who, of, channels);
    if (labelled) check_label(who, of);
  }
}

void check_patch(const std::string& who, const std::array<std::int64_t, 3>& patch) {
  for (std::int64_t extent : patch) {
    if (extent < 1 || extent > 4096)
      refuse(who,
             "a patch must have 1 to 4096 voxels along each axis, got " + std::to_string(extent));
  }
}

DType label_dtype(const std::string& who, Cases cases, std::int64_t beyond) {
  if (beyond < -32768 || beyond > 32767) {
    refuse(who, "the ignored label and the one outside must be from -32768 to 32767, got " +
                    std::to_string(beyond));
  }
  const bool bytes = std::all_of(cases.begin(), cases.end(), [](const VolumeCase& of) {
    const VolumeInfo& info = of.label->info();
    return info.dtype == DType::uint8 && info.scale == 1.0 && info.offset == 0.0;
  });
  return bytes && beyond >= 0 && beyond <= 255 ? DType::uint8 : DType::int16;
}

void read_label(const VolumeCase& of, const VolumeBox& box, DType dtype, std::int64_t beyond,
                std::byte* to) {
  if (dtype != DType::uint8) {
    read_labels(*of.label, box, static_cast<std::int16_t>(beyond),
                reinterpret_cast<std::int16_t*>(to));
    return;
  }
  Outside outside;
  outside.fill[0] = static_cast<std::byte>(beyond);
  of.label->read_box(box, BoxMemory::dense(to, box.shape(), 1), outside);
}

float ChannelScale::scale(bool converted) const noexcept {
  return static_cast<float>((converted ? 1.0 : volume->info().scale) / deviation);
}

float ChannelScale::offset(bool converted) const noexcept {
  return static_cast<float>(((converted ? 0.0 : volume->info().offset) - mean) / deviation);
}

std::vector<ChannelScale> channel_scales(const VolumeCase& of) {
  std::vector<ChannelScale> scales;
  for (const auto& image : of.images) {
    for (std::int64_t channel = 0; channel < image->info().shape[0]; ++channel) {
      const std::size_t c = scales.size();
      scales.push_back({.volume = image.get(),
                        .channel = channel,
                        .mean = of.means.empty() ? 0.0 : of.means[c],
                        .deviation = of.deviations.empty() ? 1.0 : of.deviations[c]});
    }
  }
  return scales;
}

std::size_t decoding_bytes(Cases cases, bool labelled) {
  std::size_t bytes = 0;
  for (const VolumeCase& of : cases)
    for_volumes(of, labelled, [&](const CachedVolume& volume) {
      bytes = std::max(bytes, volume.volume().working_bytes());
    });
  return bytes;
}

std::size_t resident_bytes(Cases cases) {
  std::set<const BlockCache*> caches;
  std::size_t bytes = cases.size() * sizeof(VolumeCase);
  for (const VolumeCase& of : cases) {
    for_volumes(of, true, [&](const CachedVolume& volume) {
      bytes += volume.volume().resident_bytes();
      if (caches.insert(&volume.cache()).second) bytes += volume.cache().most_bytes();
    });
    if (of.foreground) bytes += of.foreground->resident_bytes();
    if (of.weights) bytes += of.weights->resident_bytes();
  }
  return bytes;
}

}  // namespace headrace::inline v1::detail
