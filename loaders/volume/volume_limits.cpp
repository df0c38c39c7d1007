#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/volume_limits.h>

#include <cmath>
#include <string>

namespace headrace::inline v1 {
namespace {

constexpr const char* axis_names[] = {"channels", "z", "y", "x"};

[[noreturn]] void refuse(const std::string& name, const std::string& rule) {
  throw DataError("[volume] " + name + ": " + rule);
}

/// The product of positive extents; refused where it passes `most`.
std::int64_t product(const VolumeIndex& extents, std::int64_t most, const std::string& name,
                     const std::string& what) {
  std::int64_t whole = 1;
  for (std::int64_t extent : extents) {
    if (extent > most / whole)
      refuse(name, "must have at most " + std::to_string(most) + " " + what + ", got more");
    whole *= extent;
  }
  return whole;
}

void check_extents(const VolumeIndex& extents, std::int64_t most, const std::string& name,
                   const std::string& what) {
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (extents[axis] < 1 || extents[axis] > most) {
      refuse(name, what + " along " + axis_names[axis] + " must be from 1 to " +
                       std::to_string(most) + ", got " + std::to_string(extents[axis]));
    }
  }
}

}  // namespace

void check_volume(const VolumeInfo& info, const VolumeLimits& limits, const std::string& name) {
  check_extents(info.shape, limits.extent, name, "the extent");
  check_extents(info.block, limits.extent, name, "a block");
  product(info.shape, limits.voxels, name, "voxels");
  const auto element = static_cast<std::int64_t>(size_of(info.dtype));
  product(info.block, static_cast<std::int64_t>(limits.block_bytes) / element, name,
          "voxels in a block that is decoded at once");
  product(info.grid(), limits.blocks, name, "blocks");
  for (double spacing : info.spacing) {
    if (!std::isfinite(spacing) || spacing <= 0.0)
      refuse(name, "the spacing must be above 0 mm, got " + std::to_string(spacing));
  }
  for (double value : info.affine)
    if (!std::isfinite(value))
      refuse(name, "the affine must be finite, got " + std::to_string(value));
  if (!std::isfinite(info.scale) || info.scale == 0.0 || !std::isfinite(info.offset)) {
    refuse(name, "scale and offset of the values must be finite and the scale not 0, got " +
                     std::to_string(info.scale) + " and " + std::to_string(info.offset));
  }
}

}  // namespace headrace::inline v1
