#pragma once

#include <headrace/loaders/hdf5/detail/file/hdf5_file.h>
#include <headrace/loaders/hdf5/internal/library_access.h>

#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// What LibraryAccess asks of a file that the library has open here. Any thread.
std::vector<std::string> list_group(const Hdf5File& file, const std::string& path);
std::vector<std::string> list_datasets(const Hdf5File& file);
std::vector<Hdf5Attribute> read_attributes(const Hdf5File& file, const AttributeRequest& request);

}  // namespace headrace::inline v1::detail
