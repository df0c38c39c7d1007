#pragma once

#include <filesystem>
#include <string_view>

namespace headrace::inline v1::app {

/// Writes a file so that a reader, and a machine that loses power, finds the old content or all of
/// the new one: temporary file in the same folder, fsync, rename, fsync of the folder. Throws
/// ResourceError.
void write_file_atomically(const std::filesystem::path& file, std::string_view content);

}  // namespace headrace::inline v1::app
