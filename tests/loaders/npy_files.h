#pragma once

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <type_traits>

namespace headrace::test {

/// As numpy.save writes it, the folders on the way, too: the header padded so that the data begins
/// at a multiple of 64.
inline void write_npy(const std::filesystem::path& path, const std::string& dictionary,
                      const std::string& data) {
  std::string header = dictionary;
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size() & 255)
       << static_cast<char>(header.size() >> 8) << header << data;
}

/// An array; `shape` as Python writes it: "3, 2" or "5,".
template <class T>
void write_array(const std::filesystem::path& path, const std::string& shape,
                 std::span<const std::type_identity_t<T>> values) {
  const char* kind = std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "i" : "u";
  write_npy(path,
            "{'descr': '<" + std::string(kind) + std::to_string(sizeof(T)) +
                "', 'fortran_order': False, 'shape': (" + shape + "), }",
            {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

}  // namespace headrace::test
