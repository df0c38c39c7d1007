#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/detail/voxel/box_copy.h>
#include <headrace/loaders/volume/volume_reader.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace headrace::inline v1 {
namespace {

/// The parts of a box and of the volume that are the same voxels.
struct Overlap {
  VolumeBox volume;  ///< in the volume
  VolumeBox box;     ///< in the box
  bool any = false;
};

/// With the rule `edge` there always is one: the nearest voxels stand for a box beyond an end.
Overlap overlap_of(const VolumeBox& box, const VolumeIndex& shape, bool edge) {
  Overlap overlap{.volume = {}, .box = {}, .any = true};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    std::int64_t begin = std::clamp<std::int64_t>(box.begin[axis], 0, shape[axis]);
    std::int64_t end = std::clamp<std::int64_t>(box.end[axis], 0, shape[axis]);
    std::int64_t at = begin - box.begin[axis];
    if (begin >= end) {
      if (!edge) return {};
      begin = box.begin[axis] < 0 ? 0 : shape[axis] - 1;
      end = begin + 1;
      at = 0;
    }
    overlap.volume.begin[axis] = begin;
    overlap.volume.end[axis] = end;
    overlap.box.begin[axis] = at;
    overlap.box.end[axis] = at + end - begin;
  }
  return overlap;
}

/// Calls use(place) for the blocks that hold voxels of a box, which is not empty and inside.
template <class Use>
bool all_blocks(const VolumeBox& inside, const VolumeIndex& block, const Use& use) {
  VolumeIndex first{}, last{};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    first[axis] = inside.begin[axis] / block[axis];
    last[axis] = (inside.end[axis] - 1) / block[axis];
  }
  VolumeIndex place;
  for (place[0] = first[0]; place[0] <= last[0]; ++place[0])
    for (place[1] = first[1]; place[1] <= last[1]; ++place[1])
      for (place[2] = first[2]; place[2] <= last[2]; ++place[2])
        for (place[3] = first[3]; place[3] <= last[3]; ++place[3])
          if (!use(place)) return false;
  return true;
}

}  // namespace

CachedVolume::CachedVolume(std::shared_ptr<const Volume> volume, std::shared_ptr<BlockCache> cache)
    : volume_(std::move(volume)),
      cache_(std::move(cache)),
      grid_(volume_->info().grid()),
      number_(0) {
  if (volume_->reads_through(*cache_)) {
    throw ConfigError("[volume] " + volume_->name() +
                      ": what is made of a volume must not be kept in the cache through which that "
                      "one is read; give it a cache of its own");
  }
  number_ = cache_->add(*volume_);
}

CachedVolume::~CachedVolume() {
  cache_->remove(number_);
}

BlockKey CachedVolume::key_of(const VolumeIndex& place) const noexcept {
  return {number_, ((place[0] * grid_[1] + place[1]) * grid_[2] + place[2]) * grid_[3] + place[3]};
}

BlockCache::Pin CachedVolume::pin(const VolumeIndex& place, bool wait) const {
  const struct {
    const Volume* volume;
    const VolumeIndex* place;
  } what{volume_.get(), &place};
  const BlockCache::Make make = [what](std::span<std::byte> out) {
    return what.volume->read_block(*what.place, out);
  };
  const std::size_t bytes = info().block_bytes();
  return wait ? cache_->pin(key_of(place), bytes, make)
              : cache_->pin_or_make(key_of(place), bytes, make);
}

/// Calls use(place, pin) for every block of a box: first those that are there, then those that this
/// thread makes, then those that others were making.
template <class Use>
void CachedVolume::for_blocks(const VolumeBox& inside, const Use& use) const {
  std::vector<VolumeIndex> missing;
  all_blocks(inside, info().block, [&](const VolumeIndex& place) {
    if (const BlockCache::Pin there = cache_->try_pin(key_of(place)))
      use(place, there);
    else
      missing.push_back(place);
    return true;
  });
  std::vector<VolumeIndex> made_elsewhere;
  for (const VolumeIndex& place : missing) {
    if (const BlockCache::Pin made = pin(place, false))
      use(place, made);
    else
      made_elsewhere.push_back(place);
  }
  for (const VolumeIndex& place : made_elsewhere)
    use(place, pin(place, true));
}

VolumeBox CachedVolume::for_parts(const VolumeBox& box, Outside::Rule rule,
                                  const std::function<void(const BoxPart&)>& use) const {
  if (box.empty()) return {};
  const Overlap overlap = overlap_of(box, info().shape, rule == Outside::Rule::edge);
  if (!overlap.any) return overlap.box;
  const VolumeBox& inside = overlap.volume;
  const std::size_t voxel_bytes = size_of(info().dtype);
  const VolumeIndex& block = info().block;
  for_blocks(inside, [&](const VolumeIndex& place, const BlockCache::Pin& pin) {
    BoxPart part;
    VolumeIndex in_block{};
    for (std::size_t axis = 0; axis < 4; ++axis) {
      const std::int64_t first = place[axis] * block[axis];
      const std::int64_t begin = std::max(first, inside.begin[axis]);
      part.shape[axis] = std::min(first + block[axis], inside.end[axis]) - begin;
      in_block[axis] = begin - first;
      part.in_box[axis] = begin - inside.begin[axis] + overlap.box.begin[axis];
    }
    // Only read from: BoxMemory says where voxels lie on both sides.
    part.stored = BoxMemory::dense(const_cast<std::byte*>(pin.bytes().data()), block, voxel_bytes);
    part.stored.voxels = detail::voxel_of(part.stored, in_block, voxel_bytes);
    use(part);
  });
  cache_->count_delivered(static_cast<std::uint64_t>(voxels_of(inside.shape())) * voxel_bytes);
  return overlap.box;
}

void CachedVolume::read_box(const VolumeBox& box, const BoxMemory& to,
                            const Outside& outside) const {
  if (box.empty()) return;
  const std::size_t voxel_bytes = size_of(info().dtype);
  const VolumeBox inside = for_parts(box, outside.rule, [&](const BoxPart& part) {
    BoxMemory target = to;
    target.voxels = detail::voxel_of(to, part.in_box, voxel_bytes);
    detail::copy_box(part.stored, target, part.shape, voxel_bytes);
  });
  detail::fill_outside(to, box.shape(), inside, outside, voxel_bytes);
}

bool CachedVolume::cached(const VolumeBox& box) const noexcept {
  const Overlap overlap = overlap_of(box, info().shape, false);
  return box.empty() || !overlap.any ||
         all_blocks(overlap.volume, info().block,
                    [&](const VolumeIndex& place) { return cache_->holds(key_of(place)); });
}

void CachedVolume::prefetch(const VolumeBox& box) const {
  const Overlap overlap = overlap_of(box, info().shape, false);
  if (box.empty() || !overlap.any) return;
  for_blocks(overlap.volume, [](const VolumeIndex&, const BlockCache::Pin&) {});
}

}  // namespace headrace::inline v1
