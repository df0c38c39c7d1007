#pragma once

#include <headrace/engine/base/export.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// The folders of a data set that is divided by folders: root/train/cat/1.jpg.
struct SplitFolders {
  std::filesystem::path train{};
  std::filesystem::path validation{};  ///< empty: there is none
  std::filesystem::path test{};        ///< likewise
  /// Names of the folders in each of them, sorted by bytes: what fixes the numbers of classes.
  std::vector<std::string> classes{};
};

/// The folders in `root` that split_named() knows; nothing where it has no train folder, or that
/// one beside others that are no splits (a class may be called "train"). Names that begin with a
/// dot are left out. Throws ConfigError where there is no such folder; where two are of one split,
/// or one beside train and another split is of none; and where they do not hold folders of the same
/// names. Links that leave `root` are refused, too, unless they are followed.
HEADRACE_API std::optional<SplitFolders> split_folders(const std::filesystem::path& root,
                                                       bool follow_links = false);

}  // namespace headrace::inline v1
