#pragma once

#include <filesystem>
#include <vector>

namespace headrace::inline v1::app {

/// A volume to be written, and where.
struct VolumeWork {
  std::filesystem::path from;
  std::filesystem::path to;
};

/// What `headrace pack volumes` converts: the volume `input`, or with `each` every one of that
/// folder, by name; makes the folder `output` then. Throws ConfigError where nothing is there, two
/// would become one, or writing would change what is read.
std::vector<VolumeWork> list_volumes(const std::filesystem::path& input,
                                     const std::filesystem::path& output, bool each);

}  // namespace headrace::inline v1::app
