#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>

#include <cstddef>
#include <span>

namespace headrace::inline v1 {

/// The values of stored voxels of any dtype: stored * scale + offset of `info`, computed in double
/// and rounded once. `stored` is whole voxels of info.dtype, of any alignment; `values` has room
/// for as many. A boolean is 0 or 1. Pure.
HEADRACE_API void to_float(const VolumeInfo& info, std::span<const std::byte> stored,
                           float* values) noexcept;

}  // namespace headrace::inline v1
