#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace headrace::test {

/// A folder that stands for "/", removed at the end.
class FakeRoot {
 public:
  FakeRoot() {
    std::string name = (std::filesystem::temp_directory_path() / "headrace-root-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;
  ~FakeRoot() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  void write(std::string_view file, std::string_view text) const {
    const auto target = path_ / file;
    std::filesystem::create_directories(target.parent_path());
    const auto fresh = std::filesystem::path(target.string() + ".new");
    std::ofstream(fresh, std::ios::binary) << text;
    std::filesystem::rename(fresh, target);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace headrace::test
