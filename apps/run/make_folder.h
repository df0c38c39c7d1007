#pragma once

#include <filesystem>
#include <string_view>

namespace headrace::inline v1::app {

/// Makes a folder and those above it where they are missing; an empty name is the working one.
/// Throws ConfigError that begins with "[who]".
void make_folder(std::string_view who, const std::filesystem::path& folder);

}  // namespace headrace::inline v1::app
