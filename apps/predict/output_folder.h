#pragma once

#include <filesystem>
#include <string>

namespace headrace::inline v1::app {

/// Throws ConfigError for a file, and for a folder that is not empty unless what is in it may be
/// overwritten: it might be what somebody drew. `what` is predicted, `of` each of these: "a mask",
/// "picture".
void require_output_folder(const std::filesystem::path& folder, bool overwrite,
                           const std::string& what, const std::string& of);

/// Throws ConfigError for a folder in which predictions would replace the data, or be taken for
/// data the next time; `data` that are not there count as a folder. `of` as above.
void require_apart(const std::filesystem::path& output, const std::filesystem::path& data,
                   const std::string& of);

}  // namespace headrace::inline v1::app
