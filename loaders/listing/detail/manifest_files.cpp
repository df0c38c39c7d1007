#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/detail/manifest_files.h>
#include <headrace/loaders/listing/detail/manifest_rows.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

namespace headrace::inline v1::detail {

namespace fs = std::filesystem;

/// The path below the root.
std::string_view ManifestFiles::inside(std::string_view column, std::string_view path,
                                       std::int64_t line) const {
  const auto refuse = [&](const std::string& rule) {
    refuse_line(manifest_, line, std::string(column) + " " + detail::quoted(path) + ": " + rule);
  };
  if (path.empty())
    refuse_line(manifest_, line, std::string(column) + " must name a file, got nothing");
  if (path.size() >= 4096 || path.find('\0') != std::string_view::npos)
    refuse("must be a path of at most 4095 bytes without a zero");
  if (path.starts_with('/')) {
    if (!path.starts_with(root_ + "/"))
      refuse("must lie below " + printable(root_) + "; give the folder of all as root");
    path.remove_prefix(root_.size() + 1);
  }
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    if (rest.substr(0, end) == "..") refuse("must not go up by \"..\"; write the path without it");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return path;
}

void ManifestFiles::add(FileTable& files, std::string_view column, std::string_view written,
                        std::int64_t line) {
  const std::string path(inside(column, written, line));
  const auto refuse = [&](const std::string& rule) {
    refuse_line(manifest_, line, std::string(column) + " " + printable(path) + ": " + rule);
  };
  const std::size_t slash = path.find_last_of('/');
  if (slash != std::string::npos) check_folder(path.substr(0, slash));
  struct stat status {};
  if (::fstatat(folder_.number(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    refuse("cannot be found: " + error_text());
  if (S_ISLNK(status.st_mode)) {
    check_link(root_ + "/" + path, root_, "manifest");
    if (::fstatat(folder_.number(), path.c_str(), &status, 0) != 0)
      refuse("cannot be found: " + error_text());
  }
  if (!S_ISREG(status.st_mode)) refuse("must be a regular file");
  files.add(path, static_cast<std::uint64_t>(status.st_size));
}

/// Links on the way may not leave the root either.
void ManifestFiles::check_folder(const std::string& folder) {
  if (folder == last_folder_) return;
  last_folder_ = folder;
  if (!folders_.insert(folder).second) return;
  std::error_code error;
  const std::string target = fs::canonical(root_ + "/" + folder, error).native();
  if (!error && target != root_ && !target.starts_with(root_ + "/")) {
    throw ConfigError("[manifest] " + printable(folder) + ": link leaves the folder, to " +
                      printable(target) + "; give the folder of all as root");
  }
}

}  // namespace headrace::inline v1::detail
