#pragma once

#include <headrace/loaders/listing/internal/file_table.h>
#include <headrace/loaders/listing/internal/passed_over.h>
#include <headrace/loaders/listing/internal/record_values.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

/// Which files are looked for, where, and for whom.
struct FileSearch {
  std::string root;       ///< canonical folder
  std::string_view who;   ///< "image folder", for messages
  std::string_view what;  ///< "an image", likewise
  bool (*is_wanted)(std::string_view path) = nullptr;
  std::function<void(const std::string& folder)> on_folder{};  ///< before a folder is listed
  /// Whether a file of another name is wanted for what it begins with.
  bool (*is_wanted_start)(std::span<const std::byte> start) = nullptr;
  PassedOver* passed_over = nullptr;  ///< counts what is left out
  bool follow_links = false;          ///< out of the root and to folders, too
};

struct ListedFile {
  std::string path;  ///< below the root
  std::uint64_t bytes = 0;
};

/// The wanted files at any depth below `root`/`below`, sorted by path; hidden names (is_hidden())
/// are left out.
/// Throws ConfigError for links that leave the root or lead to folders; where they are followed,
/// for those that lead back to a folder that they are in.
std::vector<ListedFile> list_files(const FileSearch& search, const std::string& below);

/// Files by class, and their labels.
struct ClassFiles {
  FileTable files;
  RecordValues values;
};

/// The wanted files of the folders in the root, each folder a class: all of them, sorted by name,
/// or those that `classes` names in that order. Throws ConfigError where there is no folder, one
/// without files, or one that is not among `classes`.
ClassFiles list_class_folders(const FileSearch& search, const std::vector<std::string>& classes);

}  // namespace headrace::inline v1::detail
