#pragma once

#include <headrace/loaders/listing/labelled_source.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

/// Files by path below a root, end to end in one string: about 16 bytes a file and its path.
struct FileTable {
  std::string root;   ///< canonical folder
  std::string paths;  ///< below the root
  std::vector<std::uint64_t> path_end;
  std::vector<std::uint64_t> bytes;  ///< of each file when it was listed
  std::uint64_t largest = 0;

  std::size_t size() const noexcept { return bytes.size(); }
  std::string_view path(std::size_t i) const noexcept {
    const std::size_t begin = i == 0 ? 0 : path_end[i - 1];
    return std::string_view(paths).substr(begin, path_end[i] - begin);
  }
  RecordFile file(std::int64_t index) const noexcept {
    const auto i = static_cast<std::size_t>(index);
    return {.root = root, .path = path(i), .bytes = bytes[i]};
  }
  void add(std::string_view path, std::uint64_t file_bytes);
  void shrink_to_fit();
  std::size_t memory() const noexcept;
};

}  // namespace headrace::inline v1::detail
