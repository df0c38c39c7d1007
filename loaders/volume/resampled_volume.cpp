#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/derived_volumes.h>
#include <headrace/loaders/volume/internal/resample_task.h>
#include <headrace/loaders/volume/spatial_map.h>
#include <headrace/loaders/volume/volume_limits.h>
#include <headrace/loaders/volume/volume_values.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1 {
namespace {

using detail::PatchMap;
using detail::ResampleTask;

std::array<double, 3> ratios(const VolumeInfo& from, const VolumeInfo& to) {
  std::array<double, 3> ratio{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    ratio[axis] =
        static_cast<double>(from.shape[axis + 1]) / static_cast<double>(to.shape[axis + 1]);
  return ratio;
}

/// Voxels that a block is made of, at most.
double box_voxels(const std::array<double, 3>& ratio, const VolumeIndex& block) {
  double voxels = 1.0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    voxels *= std::ceil(ratio[axis] * static_cast<double>(block[axis + 1])) + 3.0;
  return voxels;
}

/// Smaller blocks where the grid is so coarse that one would need much of the volume.
void fit_blocks(const std::array<double, 3>& ratio, VolumeInfo& to, const std::string& name) {
  constexpr double wanted = 1 << 24;
  constexpr double most = 1 << 28;  // its bytes are counted in 31 bits
  VolumeIndex& block = to.block;
  while (box_voxels(ratio, block) > wanted) {
    const auto longest = std::max_element(block.begin() + 1, block.end());
    if (*longest == 1) break;
    *longest = (*longest + 1) / 2;
  }
  if (box_voxels(ratio, block) > most) {
    throw ConfigError("[resample] " + name + ": a voxel of the new grid must be made of at most " +
                      std::to_string(1 << 28) +
                      " voxels; take a smaller spacing, in several steps");
  }
}

VolumeInfo info_of(const VolumeInfo& from, const std::array<double, 3>& spacing,
                   const std::string& name) {
  VolumeInfo to = from;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!(spacing[axis] > 0.0) || !std::isfinite(spacing[axis])) {
      throw ConfigError("[resample] the spacing must be above 0 mm along each axis, got " +
                        std::to_string(spacing[axis]));
    }
    const double extent = std::nearbyint(static_cast<double>(from.shape[axis + 1]) *
                                         from.spacing[axis] / spacing[axis]);
    if (extent > static_cast<double>(VolumeLimits{}.extent)) {
      throw ConfigError("[resample] " + name + ": a spacing of " + std::to_string(spacing[axis]) +
                        " mm must give at most " + std::to_string(VolumeLimits{}.extent) +
                        " voxels along an axis; take a larger one");
    }
    to.shape[axis + 1] = std::max<std::int64_t>(static_cast<std::int64_t>(extent), 1);
    to.block[axis + 1] = std::min<std::int64_t>(to.shape[axis + 1], 64);
  }
  to.block[0] = 1;
  const std::array<double, 3> ratio = ratios(from, to);
  // Columns of the affine are x, y, z; the first voxel's middle moves as its edge stays.
  for (std::size_t row = 0; row < 3; ++row) {
    double shift = 0.0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      double& step = to.affine[4 * row + 2 - axis];
      shift += step * 0.5 * (ratio[axis] - 1.0);
      step *= ratio[axis];
    }
    to.affine[4 * row + 3] += shift;
  }
  for (std::size_t axis = 0; axis < 3; ++axis)
    to.spacing[axis] = from.spacing[axis] * ratio[axis];
  fit_blocks(ratio, to, name);
  if (!detail::is_resampled(from.dtype)) {  // read as values
    to.dtype = DType::float32;
    to.scale = 1.0;
    to.offset = 0.0;
  }
  return to;
}

class ResampledVolume final : public Volume {
 public:
  ResampledVolume(std::shared_ptr<const CachedVolume> volume, const VolumeInfo& info,
                  GridSampling how)
      : Volume(info, volume->volume().name()), volume_(std::move(volume)), how_(how) {}

  std::uint64_t read_block(const VolumeIndex& place, std::span<std::byte> out) const override {
    const SpatialMap map = map_of(place);
    VolumeBox box = reach_in(map, volume_->info());
    box.begin[0] = place[0];
    box.end[0] = place[0] + 1;
    const std::vector<std::byte> voxels = read(box);
    const PatchMap in_box = detail::patch_map(map, box);
    ResampleTask task{.samples = 1, .stored = info().dtype};
    std::copy_n(in_box.patch, 3, task.patch);
    const std::int64_t zero = 0;
    const float values[] = {1.0F, 0.0F};
    task.boxes = voxels.data();
    task.box_offsets = &zero;
    task.maps = &in_box;
    task.values = values;
    const std::int64_t rows = map.patch[0] * map.patch[1];
    if (how_ == GridSampling::one_hot) {
      task.how = detail::Resampling::one_hot;
      task.to = out.data();
      detail::resample_rows(task, 0, rows);
      return 0;
    }
    std::vector<float> floats(out.size() / size_of(info().dtype));
    task.to = floats.data();
    detail::resample_rows(task, 0, rows);
    round_into(floats, out);
    return 0;
  }

  bool reads_through(const BlockCache& cache) const noexcept override {
    return &volume_->cache() == &cache || volume_->volume().reads_through(cache);
  }

  std::size_t working_bytes() const override {
    const double voxels = box_voxels(ratios(volume_->info(), info()), info().block);
    return static_cast<std::size_t>(voxels) * 12 + info().block_bytes() * 4 +
           volume_->volume().working_bytes();
  }

 private:
  /// Half-pixel middles: voxel i of the new grid lies at (i + 0.5) * ratio - 0.5 of the old one.
  SpatialMap map_of(const VolumeIndex& place) const {
    SpatialMap map;
    const std::array<double, 3> ratio = ratios(volume_->info(), info());
    for (std::size_t axis = 0; axis < 3; ++axis) {
      map.patch[axis] = info().block[axis + 1];
      map.matrix[4 * axis] = ratio[axis];
      const auto first = static_cast<double>(place[axis + 1] * info().block[axis + 1]);
      map.origin[axis] = (first + 0.5) * ratio[axis] - 0.5;
    }
    return map;
  }

  std::vector<std::byte> read(const VolumeBox& box) const {
    const VolumeInfo& from = volume_->info();
    const auto voxels = static_cast<std::size_t>(voxels_of(box.shape()));
    const std::size_t element = size_of(from.dtype);
    const auto slack = static_cast<std::size_t>(detail::box_slack) * 8;
    std::vector<std::byte> stored(voxels * element + slack);
    volume_->read_box(box, BoxMemory::dense(stored.data(), box.shape(), element),
                      {.rule = Outside::Rule::edge});
    if (from.dtype == info().dtype) return stored;
    std::vector<std::byte> values(voxels * sizeof(float) + slack);
    to_float(from, std::span(stored).first(voxels * element),
             reinterpret_cast<float*>(values.data()));
    return values;
  }

  void round_into(const std::vector<float>& floats, std::span<std::byte> out) const {
    const auto put = [&](auto kind) {
      using T = decltype(kind);
      auto* to = reinterpret_cast<T*>(out.data());
      for (std::size_t i = 0; i < floats.size(); ++i)
        to[i] = static_cast<T>(std::nearbyintf(floats[i]));
    };
    switch (info().dtype) {
      case DType::uint8:
        return put(std::uint8_t{});
      case DType::int16:
        return put(std::int16_t{});
      case DType::uint16:
        return put(std::uint16_t{});
      default:
        std::memcpy(out.data(), floats.data(), out.size());
    }
  }

  std::shared_ptr<const CachedVolume> volume_;
  GridSampling how_;
};

}  // namespace

std::shared_ptr<const Volume> resampled(std::shared_ptr<const CachedVolume> volume,
                                        const std::array<double, 3>& spacing, GridSampling how) {
  const VolumeInfo info = info_of(volume->info(), spacing, volume->volume().name());
  if (how == GridSampling::one_hot && info.dtype == DType::float32) {
    throw ConfigError("[resample] " + volume->volume().name() +
                      ": labels must be uint8, int16 or uint16, got " +
                      std::string(name_of(volume->info().dtype)) + "; convert them first");
  }
  return std::make_shared<const ResampledVolume>(std::move(volume), info, how);
}

}  // namespace headrace::inline v1
