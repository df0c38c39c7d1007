#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_limits.h>

#include <filesystem>
#include <memory>

namespace headrace::inline v1 {

/// Opens a Blosc2 NDim file (.b2nd) of one contiguous frame, as nnU-Net writes them: the last four
/// axes are channel, z, y, x; an axis before them must have one element. Booleans are bytes of 0
/// and 1. A block is one of Blosc2's, of which only the bytes are read, but along axes where blocks
/// do not divide their chunks, and there are several, as long as a chunk. Codecs: blosclz, lz4,
/// lz4hc, zlib, zstd; filters: shuffle, bitshuffle, truncated precision. Throws ConfigError where
/// there is no such file, DataError naming the rule that it breaks.
HEADRACE_API std::shared_ptr<const Volume> open_b2nd_volume(const std::filesystem::path& file,
                                                            const VolumeLimits& limits = {});

}  // namespace headrace::inline v1
