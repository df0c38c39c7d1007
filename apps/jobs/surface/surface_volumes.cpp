#include <headrace/apps/feed/debian_package.h>
#include <headrace/apps/jobs/surface/surface_volumes.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/volume/block_cache.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/volume_reader.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::int64_t block_side = 16;

/// Calls use(at, neighbours) for each voxel: how many of the six around it are in the mask.
template <class Use>
void for_neighbours(const SurfaceVoxels& mask, const Use& use) {
  const auto [depth, rows, columns] = mask.extent;
  const auto in = [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    const bool there = z >= 0 && z < depth && y >= 0 && y < rows && x >= 0 && x < columns;
    return there && mask.voxels[mask.at(z, y, x)] != 0 ? 1 : 0;
  };
  for (std::int64_t z = 0; z < depth; ++z)
    for (std::int64_t y = 0; y < rows; ++y)
      for (std::int64_t x = 0; x < columns; ++x)
        use(mask.at(z, y, x), in(z - 1, y, x) + in(z + 1, y, x) + in(z, y - 1, x) +
                                  in(z, y + 1, x) + in(z, y, x - 1) + in(z, y, x + 1));
}

}  // namespace

SurfaceVoxels inner_boundary(const SurfaceVoxels& mask) {
  SurfaceVoxels made{mask.extent, std::vector<std::uint8_t>(mask.voxels.size())};
  for_neighbours(mask, [&](std::size_t at, int neighbours) {
    made.voxels[at] = mask.voxels[at] != 0 && neighbours < 6 ? 1 : 0;
  });
  return made;
}

SurfaceVoxels grown(const SurfaceVoxels& mask) {
  SurfaceVoxels made{mask.extent, std::vector<std::uint8_t>(mask.voxels.size())};
  for_neighbours(mask, [&](std::size_t at, int neighbours) {
    made.voxels[at] = mask.voxels[at] != 0 || neighbours > 0 ? 1 : 0;
  });
  return made;
}

void ignore_blocks(SurfaceVoxels& labels, const IgnoredBlocks& blocks) {
  const auto [depth, rows, columns] = labels.extent;
  std::int64_t block = 0;
  for (std::int64_t z = 0; z < depth; z += block_side)
    for (std::int64_t y = 0; y < rows; y += block_side)
      for (std::int64_t x = 0; x < columns; x += block_side) {
        Random random(
            {.seed = blocks.seed, .loader = hash_name("prepare surface"), .position = block++});
        if (random.uniform() >= blocks.share) continue;
        const std::int64_t width = std::min(block_side, columns - x);
        for (std::int64_t k = z; k < std::min(z + block_side, depth); ++k)
          for (std::int64_t j = y; j < std::min(y + block_side, rows); ++j)
            std::fill_n(labels.voxels.begin() + static_cast<std::ptrdiff_t>(labels.at(k, j, x)),
                        width, blocks.label);
      }
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view package = "mricron-data";
constexpr std::string_view package_sum =
    "d40aa0ed66cf89bf6cafa049ad3884703c9d975c2ee2737525b7196528df9d6f";

std::string digest_of(const SurfaceSources& sources) {
  std::uint64_t digest = 0;
  for (const fs::path& file : {sources.head, sources.brain, sources.other, sources.other_parts}) {
    if (!fs::exists(file)) {
      throw DataError(
          fmt::format("[prepare] there must be a file {}, got none; leave --templates "
                      "out, or name a folder that has it",
                      file.string()));
    }
    digest = digest * 31 + hash_name(read_whole_text(file, "prepare"));
  }
  return fmt::format("{:016x}", digest);
}

SurfaceSources sources_in(const fs::path& folder) {
  return {.head = folder / "ch2.nii.gz",
          .brain = folder / "ch2bet.nii.gz",
          .other = folder / "inia19-t1-brain.nii.gz",
          .other_parts = folder / "inia19-NeuroMaps.nii.gz"};
}

}  // namespace

WholeVolume WholeVolume::part(const std::array<std::int64_t, 3>& begin,
                              const std::array<std::int64_t, 3>& end) const {
  WholeVolume made{.info = info};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    made.info.shape[axis + 1] = end[axis] - begin[axis];
    for (std::size_t row = 0; row < 3; ++row)  // columns of the affine are x, y, z
      made.info.affine[4 * row + 3] +=
          info.affine[4 * row + 2 - axis] * static_cast<double>(begin[axis]);
  }
  const std::size_t voxel = size_of(info.dtype);
  const auto row = static_cast<std::size_t>(end[2] - begin[2]) * voxel;
  for (std::int64_t z = begin[0]; z < end[0]; ++z)
    for (std::int64_t y = begin[1]; y < end[1]; ++y) {
      const auto at =
          static_cast<std::size_t>((z * info.shape[2] + y) * info.shape[3] + begin[2]) * voxel;
      const auto from = voxels.begin() + static_cast<std::ptrdiff_t>(at);
      made.voxels.insert(made.voxels.end(), from, from + static_cast<std::ptrdiff_t>(row));
    }
  return made;
}

SurfaceVoxels WholeVolume::mask() const {
  const std::size_t voxel = size_of(info.dtype);
  SurfaceVoxels made{{info.shape[1], info.shape[2], info.shape[3]},
                     std::vector<std::uint8_t>(voxels.size() / voxel)};
  for (std::size_t i = 0; i < voxels.size(); ++i)
    if (voxels[i] != std::byte{0}) made.voxels[i / voxel] = 1;
  return made;
}

WholeVolume WholeVolume::labelled(SurfaceVoxels labels) const {
  WholeVolume made{.info = info};
  made.info.dtype = DType::uint8;
  made.info.scale = 1.0;
  made.info.offset = 0.0;
  made.voxels.resize(labels.voxels.size());
  std::memcpy(made.voxels.data(), labels.voxels.data(), labels.voxels.size());
  return made;
}

WholeVolume read_whole(const fs::path& file) {
  const std::shared_ptr<const Volume> volume = open_volume(file);
  WholeVolume made{.info = volume->info()};
  if (made.info.shape[0] != 1) {
    throw DataError(fmt::format("[prepare] {} must have one channel, got {}; name another file",
                                volume->name(), made.info.shape[0]));
  }
  const std::size_t voxel = size_of(made.info.dtype);
  made.voxels.resize(static_cast<std::size_t>(voxels_of(made.info.shape)) * voxel);
  const auto cache = std::make_shared<BlockCache>(made.info.block_bytes());
  CachedVolume(volume, cache)
      .read_box({{}, made.info.shape},
                BoxMemory::dense(made.voxels.data(), made.info.shape, voxel));
  return made;
}

SurfaceSources debian_surface(const std::function<void(std::string_view)>& say) {
  const fs::path tree = debian_package(package, package_sum, say);
  SurfaceSources sources = sources_in(tree / "usr/share/mricron/templates");
  sources.licence = tree / "usr/share/doc" / package / "copyright";
  sources.origin = fmt::format("Debian's package {} (SHA-256 {})", package, package_sum);
  sources.digest = digest_of(sources);
  return sources;
}

SurfaceSources folder_surface(const fs::path& folder) {
  SurfaceSources sources = sources_in(folder);
  sources.origin = folder.string();
  sources.digest = digest_of(sources);
  return sources;
}

}  // namespace headrace::inline v1::app
