#pragma once

#include <headrace/loaders/volume/volume.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// Voxels along z, y, x, x fastest: 1 or another label, else 0.
struct SurfaceVoxels {
  std::array<std::int64_t, 3> extent{};
  std::vector<std::uint8_t> voxels{};

  std::size_t at(std::int64_t z, std::int64_t y, std::int64_t x) const noexcept {
    return static_cast<std::size_t>((z * extent[1] + y) * extent[2] + x);
  }
};

/// Voxels of a mask of which one of the six neighbours is not in it; nothing is, beyond the volume.
SurfaceVoxels inner_boundary(const SurfaceVoxels& mask);

/// A mask with the six neighbours of its voxels.
SurfaceVoxels grown(const SurfaceVoxels& mask);

/// Which blocks of a label become another one.
struct IgnoredBlocks {
  std::uint8_t label = 2;
  double share = 0.2;  ///< the probability of each block
  std::uint64_t seed = 42;
};

/// Gives that label to blocks of 16 voxels a side, whatever was in them. Depends on the seed and
/// the block's place alone.
void ignore_blocks(SurfaceVoxels& labels, const IgnoredBlocks& blocks);

/// A volume in memory, one channel.
struct WholeVolume {
  VolumeInfo info{};
  std::vector<std::byte> voxels{};

  /// Of a part of it, [begin, end) along z, y, x; it stays where it was in millimetres.
  WholeVolume part(const std::array<std::int64_t, 3>& begin,
                   const std::array<std::int64_t, 3>& end) const;
  /// Where it is not 0; of integers of 8 and 16 bits.
  SurfaceVoxels mask() const;
  /// Labels on its grid.
  WholeVolume labelled(SurfaceVoxels labels) const;
};

/// Throws what open_volume() throws, and DataError for several channels.
WholeVolume read_whole(const std::filesystem::path& file);

/// The volumes that the recipe is made of.
struct SurfaceSources {
  std::filesystem::path head{};         ///< ch2: a human head
  std::filesystem::path brain{};        ///< ch2bet: the same, nothing but the brain
  std::filesystem::path other{};        ///< inia19: the brain of a macaque
  std::filesystem::path other_parts{};  ///< its parts, labels
  std::filesystem::path licence{};      ///< may be missing
  std::string origin{};                 ///< in words
  std::string digest{};                 ///< of the four files
};

/// Debian's mricron-data, fetched where it is not there, or the files of that name in a folder.
/// Throws DataError with the way out.
SurfaceSources debian_surface(const std::function<void(std::string_view)>& say);
SurfaceSources folder_surface(const std::filesystem::path& folder);

}  // namespace headrace::inline v1::app
