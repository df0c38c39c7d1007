#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_options.h>

#include <filesystem>
#include <memory>

namespace headrace::inline v1 {

/// Opens a file or folder of voxels in whichever format it is: by its first bytes, else by its
/// name. Throws ConfigError when there is nothing of that name or its format is not known, and what
/// the format's own opening throws.
HEADRACE_API std::shared_ptr<const Volume> open_volume(const std::filesystem::path& path,
                                                       const VolumeOptions& options = {});

}  // namespace headrace::inline v1
