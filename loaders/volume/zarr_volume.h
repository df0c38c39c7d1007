#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_limits.h>

#include <filesystem>
#include <memory>

namespace headrace::inline v1 {

/// Whether a folder says that it is a Zarr array or group, of version 2 or 3.
HEADRACE_API bool is_zarr(const std::filesystem::path& folder);

/// Opens a Zarr array of version 2 or 3 on a local disk, or the finest scale of an OME-Zarr image
/// (0.4, 0.5), whose axes, spacing and origin then hold. Otherwise the last four axes are channel,
/// z, y, x; an axis before them must have one element. Booleans are bytes of 0 and 1. A block is a
/// chunk, of a shard one of its chunks; each read opens the file that holds it. Codecs: blosc,
/// zstd, gzip, zlib, lz4, crc32c, transpose, sharding_indexed. Throws ConfigError where there is no
/// such folder, DataError naming the rule that its files break.
HEADRACE_API std::shared_ptr<const Volume> open_zarr_volume(const std::filesystem::path& folder,
                                                            const VolumeLimits& limits = {});

}  // namespace headrace::inline v1
