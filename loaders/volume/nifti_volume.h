#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_limits.h>

#include <filesystem>
#include <memory>

namespace headrace::inline v1 {

/// The other file of a pair by its name: x.img of x.hdr, x.hdr.gz of x.img.gz; empty of other
/// names.
HEADRACE_API std::filesystem::path nifti_partner(const std::filesystem::path& path);

/// A NIfTI-1 or NIfTI-2 file (.nii, gzip: .nii.gz) or pair (.hdr or .img, either name) of either
/// byte order: integers and floats of 8 to 64 bits; x, y, z and one more axis, time or vector, as
/// channels. Not packed, a block is some whole slices, or rows of a large one; of gzip it is the
/// whole volume, since there is no way into the middle of one. Scale and offset are scl_slope and
/// scl_inter, a slope of 0 none; distances of 0 or that are no numbers count as 1. The affine is
/// the sform, else the qform, else what nibabel makes of the distances alone. Metres and
/// micrometres (xyzt_units) become millimetres. Throws ConfigError when there is no such file,
/// DataError for one that is broken or of another kind.
HEADRACE_API std::shared_ptr<const Volume> open_nifti_volume(const std::filesystem::path& path,
                                                             const VolumeLimits& limits = {});

}  // namespace headrace::inline v1
