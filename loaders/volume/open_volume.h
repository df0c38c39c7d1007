#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_options.h>

#include <filesystem>
#include <memory>
#include <string_view>

namespace headrace::inline v1 {

/// Whether files of that name are usually volumes, one each; not a header's second file.
HEADRACE_API bool is_named_as_volume(std::string_view name) noexcept;

/// Opens a file or folder of voxels in whichever format it is: by its first bytes, else by its
/// name. Throws ConfigError when there is nothing of that name or its format is not known, and what
/// the format's own opening throws.
HEADRACE_API std::shared_ptr<const Volume> open_volume(const std::filesystem::path& path,
                                                       const VolumeOptions& options = {});

}  // namespace headrace::inline v1
