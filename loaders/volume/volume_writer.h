#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>

#include <cstddef>
#include <filesystem>
#include <span>

namespace headrace::inline v1 {

/// Writes a volume that is in memory, voxels in the order c, z, y, x and in the machine's byte
/// order, as a NIfTI-1 file: gzip where the name ends in ".gz". Shape, type, scale, offset, spacing
/// (as pixdim, in millimetres) and affine (as sform) are those of `info`; booleans become uint8. A
/// crash leaves the old file or the whole new one. Throws ConfigError for a type or an extent
/// (above 32767) that NIfTI-1 does not have and for voxels of another size, ResourceError when it
/// cannot be written.
HEADRACE_API void write_nifti(const std::filesystem::path& path, const VolumeInfo& info,
                              std::span<const std::byte> voxels);

/// The same as a TIFF file, BigTIFF where it is large: a page a slice, packed with deflate. Spacing
/// and channels are said as ImageJ says them; an affine and a scale cannot be said, the first is
/// left out and the second a ConfigError. The packed file is made in memory.
HEADRACE_API void write_tiff_volume(const std::filesystem::path& path, const VolumeInfo& info,
                                    std::span<const std::byte> voxels);

}  // namespace headrace::inline v1
