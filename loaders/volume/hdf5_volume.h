#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_options.h>

#include <filesystem>
#include <memory>

namespace headrace::inline v1 {

/// A dataset of an HDF5 file as a volume: axes (y, x), (z, y, x) or (c, z, y, x), further ones
/// before them of extent 1. A block is the dataset's chunk, decoded here in any of the filters that
/// Hdf5Table decodes; of a dataset in one piece some slices or rows. What only the library can read
/// comes through it, slice by slice, on one thread. Spacing is the attribute "element_size_um"
/// (z, y, x; micrometres) where there is one. Files are not trusted, as Hdf5Table's are not, and
/// use_hdf5_helper() goes for them too. Throws ConfigError when there is no such file or dataset,
/// or several and none is named, DataError for what is damaged or refused.
HEADRACE_API std::shared_ptr<const Volume> open_hdf5_volume(const std::filesystem::path& path,
                                                            const VolumeOptions& options = {});

}  // namespace headrace::inline v1
