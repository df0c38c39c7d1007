#pragma once

#include <cstdint>
#include <filesystem>

namespace headrace::inline v1::monitor::detail {

/// How many files a process has open, of its folder /proc/PID/fd; 0 where that may not be read.
std::uint64_t open_files(const std::filesystem::path& folder);

}  // namespace headrace::inline v1::monitor::detail
