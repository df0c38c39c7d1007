#pragma once

#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace headrace::test {

/// A folder that stands for "/", removed at the end.
class FakeRoot {
 public:
  void write(std::string_view file, std::string_view text) const {
    const auto target = path() / file;
    std::filesystem::create_directories(target.parent_path());
    const auto fresh = std::filesystem::path(target.string() + ".new");
    std::ofstream(fresh, std::ios::binary) << text;
    std::filesystem::rename(fresh, target);
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace headrace::test
