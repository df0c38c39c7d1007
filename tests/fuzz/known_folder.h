#pragma once

#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace headrace::test {

/// A folder of four files, and links that leave it.
class KnownFolder {
 public:
  KnownFolder() : root_(std::filesystem::canonical(folder_.path()).string()) {
    std::filesystem::create_directories(folder_ / "d");
    for (const char* name : files)
      std::ofstream(folder_ / name) << name;
    std::filesystem::create_symlink("/", folder_ / "out");
    std::filesystem::create_symlink("/proc/self/stat", folder_ / "l.jpg");
  }

  /// Canonical.
  const std::string& root() const { return root_; }
  bool holds(std::string_view path) const {
    return std::find(files.begin(), files.end(), path) != files.end() ||
           (std::filesystem::is_regular_file(root_ + "/" + std::string(path)) &&
            std::filesystem::canonical(root_ + "/" + std::string(path))
                .string()
                .starts_with(root_ + "/"));
  }

 private:
  static constexpr std::array files{"a.jpg", "b.png", "d/c.jpg", "d/e.png"};

  TemporaryFolder folder_;
  std::string root_;
};

}  // namespace headrace::test
