#include <headrace/apps/train/volume_slices.h>
#include <headrace/engine/base/literals.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/volume_values.h>

#include <algorithm>

namespace headrace::inline v1::app {

VolumeSlices::VolumeSlices(const std::filesystem::path& file) : name_(file.string()) {
  const std::shared_ptr<const Volume> volume = open_volume(file);
  const VolumeInfo& info = volume->info();
  const VolumeIndex grid = info.grid();
  const auto layer = static_cast<std::size_t>(grid[2] * grid[3]) * info.block_bytes();
  volume_ = std::make_shared<const CachedVolume>(
      volume, std::make_shared<BlockCache>(std::max<std::size_t>(2 * layer, 64_MiB)));
  const auto voxels = static_cast<std::size_t>(info.shape[2] * info.shape[3]);
  stored_.resize(voxels * size_of(info.dtype));
  values_.resize(voxels);
}

std::span<const float> VolumeSlices::read(std::int64_t z) {
  const VolumeInfo& info = volume_->info();
  const VolumeBox box{.begin = {0, z, 0, 0}, .end = {1, z + 1, info.shape[2], info.shape[3]}};
  volume_->read_box(box, BoxMemory::dense(stored_.data(), box.shape(), size_of(info.dtype)));
  to_float(info, stored_, values_.data());
  return values_;
}

bool is_zero_everywhere(const std::filesystem::path& file) {
  VolumeSlices slices(file);
  if (slices.shape()[0] != 1) return false;
  for (std::int64_t z = 0; z < slices.shape()[1]; ++z)
    if (!std::ranges::all_of(slices.read(z), [](float value) { return value == 0.0F; }))
      return false;
  return true;
}

}  // namespace headrace::inline v1::app
