#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace headrace::inline v1::app {

/// Where programs keep what they have fetched: XDG_CACHE_HOME or ~/.cache, then headrace/.
std::filesystem::path cache_folder();

/// A Debian package whose files are wanted.
struct DebianPackage {
  std::string_view name{};
  /// That the package must have; empty: any, who uses its files looks at them.
  std::string_view sha256{};
  std::string_view folder{};  ///< in the package, where the files lie; empty: all of it
  std::function<bool(const std::filesystem::path&)> complete{};  ///< a folder; empty: any is
  std::string_view way_out = "make sure that apt-get can reach Debian 12";
};

/// Fetches a package with `apt-get download`, which needs no root, and unpacks it as `target`,
/// whole or not at all; a complete folder that is there already is kept, another one replaced.
/// Throws DataError with the way out; what was there stays then.
void fetch_debian_package(const DebianPackage& package, const std::filesystem::path& target);

/// The unpacked files of a Debian package: from the cache folder, else fetched into it. The
/// package must have the SHA-256 that is known of it. `say` gets a line when something is fetched.
/// Throws DataError with the way out.
std::filesystem::path debian_package(std::string_view name, std::string_view sha256,
                                     const std::function<void(std::string_view)>& say = {});

}  // namespace headrace::inline v1::app
