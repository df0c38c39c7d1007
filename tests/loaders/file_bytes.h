#pragma once

#include <headrace/tests/support/content_of.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace headrace::test {

inline std::vector<std::byte> file_bytes(const std::filesystem::path& path) {
  const std::string text = content_of(path);
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// Makes the folders on the way, too.
inline void write_bytes(const std::filesystem::path& path, const std::vector<std::byte>& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

inline void make_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// Replaces bytes of a file wherever they are; they must be there.
inline void damage(const std::filesystem::path& path, const std::string& before,
                   const std::string& after) {
  std::string bytes = content_of(path);
  bool found = false;
  for (auto at = bytes.find(before); at != std::string::npos;
       at = bytes.find(before, at + after.size())) {
    bytes.replace(at, before.size(), after);
    found = true;
  }
  if (!found) throw std::runtime_error("nothing to damage in " + path.string());
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// A number as most formats store it.
template <class T = std::uint64_t>
std::string little_endian(std::type_identity_t<T> value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace headrace::test
