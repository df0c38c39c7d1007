#pragma once

#include <headrace/engine/base/export.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// The paths of all datasets of an HDF5 file, by name, groups within groups included. Links to
/// other files and soft links are passed over; a group that contains itself is listed once; at most
/// 10,000 are listed. Throws ConfigError when there is no such file, DataError when it cannot be
/// read.
HEADRACE_API std::vector<std::string> hdf5_datasets(const std::filesystem::path& file);

}  // namespace headrace::inline v1
