#pragma once

#include <headrace/loaders/hdf5/internal/library_access.h>

#include <filesystem>
#include <memory>

namespace headrace::inline v1::detail {

struct HelperOptions {
  std::filesystem::path stage{};  ///< for the sources of virtual datasets
  bool keep_index = true;
};

/// The library in a helper process, which is started and has the file open when this returns.
/// Throws as Hdf5Table's constructor.
std::shared_ptr<LibraryAccess> helper_library(std::shared_ptr<const DataFile> file,
                                              const HelperOptions& options);

}  // namespace headrace::inline v1::detail
