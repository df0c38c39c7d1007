#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::monitor::detail {

/// The whole of a small kernel file; nothing if it cannot be read.
std::optional<std::string> read_small_file(const std::filesystem::path& path);

std::vector<std::string_view> split_lines(std::string_view text);
std::vector<std::string_view> split_words(std::string_view text);

/// A decimal number at the start of the text, surrounding blanks allowed.
std::optional<std::int64_t> to_number(std::string_view text);

/// The number after "key" in lines of the form "key: 12 kB" or "key 12". "kB" is multiplied out.
std::optional<std::uint64_t> keyed_number(std::string_view text, std::string_view key);

/// The directories of the process's cgroup for a controller ("memory", "cpu"), innermost first, up
/// to the root, in whichever hierarchy (v2 or v1) has it.
struct CgroupPath {
  int version = 0;  ///< 0: none found
  std::vector<std::filesystem::path> directories;
};
/// v2 (from the "0::" line) and v1 (from the controller's line); a hybrid system has both.
std::vector<CgroupPath> cgroup_paths(const std::filesystem::path& root,
                                     std::string_view controller);

}  // namespace headrace::inline v1::monitor::detail
