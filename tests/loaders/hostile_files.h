#pragma once

#include <headrace/tests/support/source_folder.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace headrace::test {

/// Damaged HDF5 files, tests/loaders/hostile/*.hex: "# what it does", "N bytes, zero but for", and
/// lines of "offset: bytes", all but N in hexadecimal. Writes each into `folder` as <name>.h5.
inline std::vector<std::filesystem::path> write_hostile_files(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::vector<fs::path> written;
  for (const auto& entry : fs::directory_iterator(fs::path(headrace::test::source_folder()) /
                                                  "tests/loaders/hostile")) {
    std::ifstream from(entry.path());
    std::string line;
    std::getline(from, line);
    std::getline(from, line);
    std::string bytes(std::stoul(line), '\0');
    while (std::getline(from, line)) {
      const auto colon = line.find(": ");
      if (colon == std::string::npos) throw std::runtime_error(entry.path().string() + ": " + line);
      const std::size_t offset = std::stoul(line, nullptr, 16);
      for (std::size_t i = 0; colon + 3 + 2 * i < line.size(); ++i)
        bytes.at(offset + i) =
            static_cast<char>(std::stoul(line.substr(colon + 2 + 2 * i, 2), nullptr, 16));
    }
    written.push_back(folder / entry.path().filename().replace_extension("h5"));
    std::ofstream(written.back(), std::ios::binary) << bytes;
  }
  if (written.size() < 20) throw std::runtime_error("no hostile files");
  return written;
}

}  // namespace headrace::test
