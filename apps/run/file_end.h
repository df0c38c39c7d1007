#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The last whole lines of a file that somebody may be writing: those of its last `bytes`, without
/// one that has no end yet. None where it cannot be read.
std::vector<std::string> last_lines(const std::filesystem::path& file,
                                    std::size_t bytes = std::size_t{64} << 10);

/// Lines of a file; 0 where it cannot be read.
std::int64_t count_lines(const std::filesystem::path& file);

/// Seconds since it was last written; negative where it is not there.
double seconds_since_written(const std::filesystem::path& file);

}  // namespace headrace::inline v1::app
