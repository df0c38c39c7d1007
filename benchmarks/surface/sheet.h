#pragma once

#include <headrace/augment/volume/grid_extent.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::bench {

/// A scan in memory, [z, y, x].
struct Scan {
  std::filesystem::path file{};
  GridExtent extent{};
  double spacing = 1.0;  ///< millimetres along z
  std::vector<float> values{};
};

/// Throws DataError for several channels and for spacings that differ along the axes.
Scan read_scan(const std::filesystem::path& file);

/// A mask in memory, [z, y, x], 1 where something is.
struct Sheet {
  GridExtent extent{};
  std::vector<std::uint8_t> voxels{};
};

/// Where a scan has this label.
Sheet sheet_of(const Scan& labels, float label = 1.0F);

/// What is left of a sheet of a scan above (or below) a threshold.
Sheet above(const Scan& scan, float threshold, bool below);

/// Keeps the largest component.
void keep_largest(Sheet& sheet);

/// A sheet mirrored along x.
Sheet mirrored(const Sheet& sheet);

/// Sheets put together along z, in order. Throws DataError where the others' sides differ.
Sheet stacked(const std::vector<Sheet>& parts);

/// How much of two sheets lies within a tolerance, in voxels, of the other.
struct Agreement {
  double voxels = 0.0;  ///< of the voxels of both
  double areas = 0.0;   ///< of the areas of both surfaces: the surface Dice
};

/// Throws DataError for different extents.
Agreement agreement(const Sheet& predicted, const Sheet& truth, double tolerance);

}  // namespace headrace::inline v1::bench
