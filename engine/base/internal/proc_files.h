#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {

/// The whole of a small kernel file; nothing if it cannot be read.
HEADRACE_API std::optional<std::string> read_small_file(const std::filesystem::path& path);

HEADRACE_API std::vector<std::string_view> split_lines(std::string_view text);
HEADRACE_API std::vector<std::string_view> split_words(std::string_view text);

/// A decimal number at the start of the text, surrounding blanks allowed.
HEADRACE_API std::optional<std::int64_t> to_number(std::string_view text);

/// The number after "key" in lines of the form "key: 12 kB" or "key 12". "kB" is multiplied out.
HEADRACE_API std::optional<std::uint64_t> keyed_number(std::string_view text, std::string_view key);

/// The directories of the process's cgroup for a controller ("memory", "cpu"), innermost first, up
/// to the root, in whichever hierarchy (v2 or v1) has it.
struct CgroupPath {
  int version = 0;  ///< 0: none found
  std::vector<std::filesystem::path> directories;
};
/// v2 (from the "0::" line) and v1 (from the controller's line); a hybrid system has both.
/// `process` is its name in proc: a number, or "self".
HEADRACE_API std::vector<CgroupPath> cgroup_paths(const std::filesystem::path& root,
                                                  std::string_view controller,
                                                  std::string_view process = "self");

/// CPU time that the tightest of the process's cgroups grants, in cores; nothing without a quota.
HEADRACE_API std::optional<double> cpu_quota(const std::filesystem::path& root,
                                             std::string_view process = "self");

/// The affinity mask, cut by that quota, rounded up; at least 1.
HEADRACE_API int usable_cores(const std::filesystem::path& root);
HEADRACE_API int usable_cores(int affinity, std::optional<double> quota);

}  // namespace headrace::inline v1::detail
