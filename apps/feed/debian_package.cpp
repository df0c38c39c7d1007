#include <headrace/apps/feed/debian_package.h>
#include <headrace/apps/run/child_process.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>

#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

/// A folder for the work at hand, which goes with it.
struct WorkFolder {
  fs::path path;

  explicit WorkFolder(fs::path at) : path(std::move(at)) { fs::create_directories(path); }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
};

void must_succeed(const ChildResult& result, std::string_view what, const DebianPackage& package) {
  if (result.status == 0) return;
  throw DataError(fmt::format("[prepare] {} of {} must succeed, got exit {} ({}); {}", what,
                              package.name, result.status,
                              result.output.substr(0, result.output.find('\n')), package.way_out));
}

fs::path downloaded(const DebianPackage& package, const fs::path& folder) {
  must_succeed(run_child({"apt-get", "download", std::string(package.name)}, folder),
               "apt-get download", package);
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".deb") return entry.path();
  }
  throw DataError(
      fmt::format("[prepare] apt-get download of {} must leave a package, got none", package.name));
}

void check(const fs::path& archive, std::string_view sha256) {
  const ChildResult sum = run_child({"sha256sum", "--", archive.string()});
  if (sum.output.starts_with(sha256)) return;
  throw DataError(
      fmt::format("[prepare] {} must have the SHA-256 {}, got {}; the recipe knows this "
                  "one version of the package",
                  archive.filename().string(), sha256, sum.output.substr(0, 64)));
}

}  // namespace

fs::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return fs::path(cache) / "headrace";
  }
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr && *home != '\0' ? home : "/tmp") / ".cache" / "headrace";
}

void fetch_debian_package(const DebianPackage& package, const fs::path& target) {
  // Unpacked beside the target and renamed: a fetch cut short leaves nothing half done.
  const WorkFolder work(cache_folder() / fmt::format("fetch-{}-{}", package.name, unique_word()));
  const fs::path archive = downloaded(package, work.path);
  if (!package.sha256.empty()) check(archive, package.sha256);
  must_succeed(run_child({"dpkg-deb", "-x", archive.string(), (work.path / "tree").string()}),
               "dpkg-deb -x", package);
  const fs::path fetched = work.path / "tree" / package.folder;
  std::error_code failed;
  fs::rename(fetched, target, failed);  // not onto a folder that holds something
  if (failed && package.complete && !package.complete(target)) {
    std::error_code ignored;
    fs::rename(target, work.path / "before", ignored);
    fs::rename(fetched, target, failed);
    if (failed) fs::rename(work.path / "before", target, ignored);
  }
  if (!fs::is_directory(target)) {
    throw DataError(
        fmt::format("[prepare] {} could not be made; check the folder", target.string()));
  }
}

fs::path debian_package(std::string_view name, std::string_view sha256,
                        const std::function<void(std::string_view)>& say) {
  const fs::path target = cache_folder() / fmt::format("{}-{}", name, sha256.substr(0, 12));
  std::error_code ignored;
  if (fs::is_directory(target, ignored)) return target;
  if (say) say(fmt::format("fetching Debian's {} into {}", name, target.string()));
  fetch_debian_package({.name = name, .sha256 = sha256}, target);
  return target;
}

}  // namespace headrace::inline v1::app
