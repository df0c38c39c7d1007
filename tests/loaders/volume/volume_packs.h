#pragma once

#include <headrace/tests/support/source_folder.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <zlib.h>

namespace headrace::test {

struct PackedFile {
  std::string name;
  std::string content;
};

/// The files of data_stores/<name>.pack.gz, which write_stores.py made.
inline std::vector<PackedFile> packed_files(const std::string& name) {
  const auto path = std::filesystem::path(headrace::test::source_folder()) /
                    "tests/loaders/volume/data_stores" / (name + ".pack.gz");
  const gzFile in = ::gzopen(path.c_str(), "rb");
  if (in == nullptr) throw std::runtime_error("no " + path.string());
  std::string bytes;
  std::vector<char> part(1 << 16);
  for (int got = 1; got > 0;) {
    got = ::gzread(in, part.data(), static_cast<unsigned>(part.size()));
    if (got > 0) bytes.append(part.data(), static_cast<std::size_t>(got));
  }
  ::gzclose(in);
  std::vector<PackedFile> files;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint32_t sizes[2];
    std::memcpy(sizes, bytes.data() + at, sizeof sizes);
    files.push_back({bytes.substr(at + 8, sizes[0]), bytes.substr(at + 8 + sizes[0], sizes[1])});
    at += 8 + sizes[0] + sizes[1];
  }
  return files;
}

}  // namespace headrace::test
