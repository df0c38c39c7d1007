#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// A file for what a command finds, as an option names it. Checked before the work whose result it
/// is to hold. A regular file has its content at once or not at all, and where the path is a link,
/// the file that it leads to has; a device or a pipe is written into. Not thread-safe.
class ResultFile {
 public:
  /// `name`: as messages call it, "[tune] --json". An empty path: none is wanted. Throws
  /// ConfigError where it is one of `others`, which are to stay as they are, and where it could not
  /// be written.
  ResultFile(const std::filesystem::path& path, std::string name,
             const std::vector<std::filesystem::path>& others);

  /// Whether there is a regular file of that name.
  bool is_there() const;
  /// Does nothing where no file is wanted. Throws ResourceError.
  void write(std::string_view text) const;
  void write(std::span<const std::byte> bytes) const;

 private:
  std::filesystem::path path_;  // links followed, but to what is no regular file
  std::string name_;
  bool straight_ = false;  // there, and neither a regular file nor a folder
};

}  // namespace headrace::inline v1::app
