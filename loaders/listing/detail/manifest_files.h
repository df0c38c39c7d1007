#pragma once

#include <headrace/loaders/file/read_file.h>
#include <headrace/loaders/listing/internal/file_table.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace headrace::inline v1::detail {

/// Files that a manifest names, each looked at once.
class ManifestFiles {
 public:
  /// Both outlive it; `root` is canonical.
  ManifestFiles(const std::string& manifest, const std::string& root)
      : manifest_(manifest), root_(root), folder_(root.c_str()) {}

  /// Adds the file that a line names in a column. Throws ConfigError where it leaves the root, by a
  /// link either, or is no regular file.
  void add(FileTable& files, std::string_view column, std::string_view written, std::int64_t line);

 private:
  std::string_view inside(std::string_view column, std::string_view path, std::int64_t line) const;
  void check_folder(const std::string& folder);

  const std::string& manifest_;
  const std::string& root_;
  FileDescriptor folder_;
  std::string last_folder_;
  std::unordered_set<std::string> folders_;  // that were looked at
};

}  // namespace headrace::inline v1::detail
