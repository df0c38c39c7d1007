#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>

#include <cstddef>
#include <filesystem>
#include <span>

namespace headrace::inline v1 {

/// Writes a predicted volume in the format that its name ends in: ".nii" and ".nii.gz"
/// (write_nifti()), ".tif" and ".tiff" (write_tiff_volume()), ".h5" and ".hdf5". The last is one
/// dataset "volume", (z, y, x) in chunks of a slice packed with Zstandard, or (c, z, y, x) in one
/// piece; its attributes "element_size_um" (z, y, x) and "affine" (3 x 4, of voxel numbers x, y, z,
/// 1) are the spacing and the affine of `info`. Shape and type are those of `info`; the file
/// appears when it is complete. Throws ConfigError for another ending, for what a format cannot say
/// and for voxels of another size, and what the writers throw.
HEADRACE_API void write_prediction(const std::filesystem::path& path, const VolumeInfo& info,
                                   std::span<const std::byte> voxels);

/// Whether a name ends in one of these.
HEADRACE_API bool writes_prediction(const std::filesystem::path& path);

}  // namespace headrace::inline v1
