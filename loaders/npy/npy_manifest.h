#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/listing/manifest_columns.h>
#include <headrace/loaders/npy/listed_arrays.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1 {

struct NpyManifestOptions {
  std::string field = "features";  ///< the arrays' name in a sample
  std::filesystem::path root{};    ///< paths are below it; default: the manifest's own folder
  ManifestColumns columns{};       ///< all but `mask`
  /// Class names by label, where other data have fixed them; labels are then to be among them.
  /// Empty: they follow from the labels.
  std::vector<std::string> classes{};
  bool follow_links = false;  ///< out of the folder; false: refused
};

/// Arrays that a file lists, in its order: the format and columns are those of ImageManifest, with
/// "path" for the array's. Headers are read when it is constructed.
class HEADRACE_API NpyManifest final : public ListedArrays {
 public:
  /// Throws ConfigError naming file, line and column for what is missing or cannot be right, and
  /// where sound arrays differ in more than their last axis; DataError where none is sound. A file
  /// that is broken is a bad sample when it is read.
  explicit NpyManifest(const std::filesystem::path& file, const NpyManifestOptions& options = {});
};

}  // namespace headrace::inline v1
