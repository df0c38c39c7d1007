#pragma once

#include <filesystem>
#include <vector>

namespace headrace::inline v1::bench {

/// Share of the files' pages that lie in the page cache now (mincore).
double cached_share(const std::vector<std::filesystem::path>& files);

/// Writes the files out, drops their pages from the page cache (POSIX_FADV_DONTNEED) and looks
/// whether they are gone. Throws ResourceError where more than 1 % stay: a file system in memory,
/// or a program that maps them. Directories, inodes, and caches below this system (a disk's, a
/// host's) are not touched.
void evict(const std::vector<std::filesystem::path>& files);

}  // namespace headrace::inline v1::bench
