#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace headrace::inline v1::app {

/// Where programs keep what they have fetched: XDG_CACHE_HOME or ~/.cache, then headrace/.
std::filesystem::path cache_folder();

/// The unpacked files of a Debian package: from the cache folder, else fetched into it with
/// `apt-get download`, which needs no root. The package must have the SHA-256 that is known of it.
/// `say` gets a line when something is fetched. Throws DataError with the way out.
std::filesystem::path debian_package(std::string_view name, std::string_view sha256,
                                     const std::function<void(std::string_view)>& say = {});

}  // namespace headrace::inline v1::app
