#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/block_cache.h>
#include <headrace/loaders/volume/volume.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace headrace::inline v1 {

/// Where the voxels of a box go. Voxels of a row lie side by side.
struct BoxMemory {
  std::byte* voxels = nullptr;
  /// Bytes from a channel to the next, from a slice (z) and from a row (y).
  std::int64_t channel_step = 0;
  std::int64_t slice_step = 0;
  std::int64_t row_step = 0;

  /// All of a box of that shape without gaps.
  static BoxMemory dense(std::byte* voxels, const VolumeIndex& shape,
                         std::size_t voxel_bytes) noexcept {
    const std::int64_t row = shape[3] * static_cast<std::int64_t>(voxel_bytes);
    return {voxels, row * shape[2] * shape[1], row * shape[2], row};
  }
};

/// What a box gets where it reaches beyond the volume.
struct Outside {
  enum class Rule : unsigned char {
    fill,  ///< one value
    edge,  ///< the nearest voxel of the volume
  };
  Rule rule = Rule::fill;
  /// The value as the volume stores it: the first bytes, as many as a voxel has.
  std::array<std::byte, 8> fill{};
};

/// What of a box lies in one block.
struct BoxPart {
  BoxMemory stored{};    ///< its voxels in the block, only to be read
  VolumeIndex in_box{};  ///< where it begins in the box
  VolumeIndex shape{};
};

/// A volume read through a cache of decoded blocks. Const and thread-safe: any number of threads
/// read boxes at a time. Forgets its blocks with itself.
class HEADRACE_API CachedVolume {
 public:
  /// Throws ResourceError where a block is larger than the cache, ConfigError for a volume that is
  /// made of others which are read through the same cache.
  CachedVolume(std::shared_ptr<const Volume> volume, std::shared_ptr<BlockCache> cache);
  ~CachedVolume();
  CachedVolume(const CachedVolume&) = delete;
  CachedVolume& operator=(const CachedVolume&) = delete;

  const VolumeInfo& info() const noexcept { return volume_->info(); }
  const Volume& volume() const noexcept { return *volume_; }
  BlockCache& cache() const noexcept { return *cache_; }

  /// Copies the stored voxels of a box, which may reach beyond the volume on every side or lie
  /// outside. Decodes the blocks that it touches and are not there, one at a time: those that are
  /// there first, those that other threads are making last. An empty box is no work. Throws what
  /// Volume::read_block() throws; the memory may then hold anything.
  void read_box(const VolumeBox& box, const BoxMemory& to, const Outside& outside = {}) const;
  /// What read_box() copies, part by part, while the part's block stays where it is: `use` must not
  /// read through the same cache. Returns what of the box it was, counted from the box's begin:
  /// voxels of the volume; where none are and the rule is `edge`, the nearest ones; else empty.
  /// Throws as read_box(), and what `use` throws.
  VolumeBox for_parts(const VolumeBox& box, Outside::Rule rule,
                      const std::function<void(const BoxPart&)>& use) const;
  /// Whether every block of a box is there, so that reading it now would wait for no disk.
  bool cached(const VolumeBox& box) const noexcept;
  /// Makes the blocks of a box that are not there. Where the cache is too small for them the first
  /// ones may be gone at the end. Throws as read_box().
  void prefetch(const VolumeBox& box) const;

 private:
  BlockCache::Pin pin(const VolumeIndex& place, bool wait) const;
  BlockKey key_of(const VolumeIndex& place) const noexcept;
  template <class Use>
  void for_blocks(const VolumeBox& inside, const Use& use) const;

  std::shared_ptr<const Volume> volume_;
  std::shared_ptr<BlockCache> cache_;
  VolumeIndex grid_;
  std::uint64_t number_;
};

}  // namespace headrace::inline v1
