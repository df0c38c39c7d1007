#include <headrace/apps/feed/read_window.h>
#include <headrace/apps/task/volume_reads.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace headrace::inline v1::app {
namespace {

using Extent = std::array<std::int64_t, 3>;

constexpr double clearly_less = 0.75;

struct Change {
  std::string setting{};
  std::string old_value{};
  std::string new_value{};
  double predicted = 0.0;  // read amplification
  std::uint64_t memory_needed = 0;
};

Extent block_of(const VolumeInfo& info) {
  return {info.block[1], info.block[2], info.block[3]};
}

double voxels(const Extent& extent) {
  double product = 1.0;
  for (const std::int64_t side : extent)
    product *= static_cast<double>(side);
  return product;
}

// Of a patch at any place, without a cache: along an axis it touches 1 + (patch - 1) / block blocks
// in the mean.
double alone(const Extent& block, const Extent& patch) {
  double product = 1.0;
  for (std::size_t axis = 0; axis < patch.size(); ++axis)
    product *=
        static_cast<double>(patch[axis] + block[axis] - 1) / static_cast<double>(patch[axis]);
  return product;
}

std::uint64_t decoded_bytes(const VolumeInfo& info) {
  return static_cast<std::uint64_t>(voxels_of(info.grid())) * info.block_bytes();
}

std::uint64_t decoded_bytes(const VolumeSet& set) {
  std::uint64_t bytes = 0;
  for (const VolumeCase& one : set.cases) {
    for (const auto& image : one.images)
      bytes += decoded_bytes(image->info());
    if (one.label) bytes += decoded_bytes(one.label->info());
  }
  return bytes;
}

// All patches of a volume at one visit unpack its blocks once at most.
double at_one_visit(const VolumeSet& set, const VolumeSettings& volume) {
  double all = 0.0;
  for (const PreparedCase& one : set.prepared)
    all += voxels(one.extent);
  const double patches = static_cast<double>(volume.patches) * voxels(volume.patch);
  return all / static_cast<double>(set.prepared.size()) / patches;
}

Change change_for(const VolumeSet& set, const VolumeSettings& volume, const Extent& block) {
  const double with_visits = at_one_visit(set, volume);
  if (volume.visit < volume.patches && with_visits < clearly_less * alone(block, volume.patch))
    return {.setting = "volume.visit",
            .old_value = std::to_string(volume.visit),
            .new_value = std::to_string(volume.patches),
            .predicted = std::max(with_visits, 1.0)};
  constexpr std::uint64_t mib = 1 << 20;
  const Bytes whole{(decoded_bytes(set) + mib - 1) / mib * mib};
  return {.setting = "volume.cache",
          .old_value = format_exact(volume.cache),
          .new_value = format_exact(whole),
          .predicted = 1.0,
          .memory_needed = whole.value - std::min(whole.value, volume.cache.value)};
}

}  // namespace

void watch_volume_reads(const VolumeSet& set, const VolumeSettings& volume) {
  if (set.cases.empty() || set.cases.front().images.empty()) return;
  const Extent block = block_of(set.cases.front().images.front()->info());
  const Change change = change_for(set, volume, block);
  watch_reads([known = std::weak_ptr(set.cache), block, patch = volume.patch,
               change]() -> std::optional<monitor::ReadFacts> {
    const auto cache = known.lock();
    if (!cache) return std::nullopt;
    const BlockCacheStats stats = cache->stats();
    if (stats.evictions == 0) return monitor::ReadFacts{};
    monitor::ReadFacts facts =
        monitor::patch_reads({.unpacked = static_cast<double>(stats.bytes_decoded),
                              .used = static_cast<double>(stats.bytes_delivered)},
                             block, patch);
    facts.setting = change.setting;
    facts.old_value = change.old_value;
    facts.new_value = change.new_value;
    facts.predicted = change.predicted;
    facts.memory_needed = change.memory_needed;
    return facts;
  });
}

}  // namespace headrace::inline v1::app
