#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/log.h>
#include <headrace/loaders/npy/listed_arrays.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1 {

struct NpyFolderOptions {
  std::string field = "features";  ///< the arrays' name in a sample
  /// Class names by label, where other data have fixed them; a folder must be one of them, and need
  /// not be there. Empty: the folders are the classes.
  std::vector<std::string> classes{};
  LogCallback log{};          ///< told which files are left out
  bool follow_links = false;  ///< out of the folder and to folders; false: refused
};

/// One folder per class, files called .npy at any depth below it, an array each; names that begin
/// with a dot are left out. Classes are sorted by name (bytes) and numbered from 0; so are the
/// files of a class. Headers are read when it is constructed.
class HEADRACE_API NpyFolder final : public ListedArrays {
 public:
  /// Throws ConfigError where there is no such folder, no class, a class without arrays or that
  /// options.classes has not, a link that leaves the folder or leads to another folder, and where
  /// sound arrays differ in more than their last axis; DataError where none is sound. A file that
  /// is broken is a bad sample when it is read.
  explicit NpyFolder(const std::filesystem::path& root, const NpyFolderOptions& options = {});
};

}  // namespace headrace::inline v1
