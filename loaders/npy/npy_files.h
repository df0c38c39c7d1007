#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/npy/listed_arrays.h>

#include <filesystem>
#include <string>

namespace headrace::inline v1 {

/// The .npy files below a folder, at any depth and sorted by path, or one .npy file: arrays of
/// which nothing is known. Hidden names are left out. Headers are read when it is
/// constructed.
class HEADRACE_API NpyFiles final : public ListedArrays {
 public:
  /// Throws ConfigError where there is no such file or folder, it holds no array, a link leaves the
  /// folder or leads to another folder, and where sound arrays differ in more than their last axis;
  /// DataError where none is sound.
  explicit NpyFiles(const std::filesystem::path& path, std::string field = "features",
                    bool follow_links = false);
};

}  // namespace headrace::inline v1
