#pragma once

#include <headrace/loaders/file/printable.h>

#include <cstddef>
#include <cstdint>
#include <limits>
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
  void add(std::string_view path, std::uint64_t file_bytes);
  void shrink_to_fit();
  std::size_t memory() const noexcept;
};

/// Images and what is known of each. A vector is empty where nothing is known.
struct ImageListing {
  FileTable images;
  FileTable masks;
  std::vector<std::string> classes;  ///< names, by label
  std::vector<std::int32_t> labels;
  std::vector<float> weights;
  std::vector<std::string> group_names;
  std::vector<std::int32_t> groups;

  void shrink_to_fit();
  std::size_t memory() const noexcept;
};

/// Whether a weight may be kept: a number from 0 on that a float32 can hold.
inline bool is_weight(double value) noexcept {
  return value >= 0.0 && value <= static_cast<double>(std::numeric_limits<float>::max());
}

}  // namespace headrace::inline v1::detail
