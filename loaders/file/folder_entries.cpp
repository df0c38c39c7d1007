#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <sys/stat.h>

namespace headrace::inline v1::detail {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

[[noreturn]] void fail(const std::string& path, int error) {
  throw std::filesystem::filesystem_error("cannot list", path,
                                          std::error_code(error, std::generic_category()));
}

std::unique_ptr<DIR, CloseFolder> open_folder(const std::string& path) {
  DIR* folder = nullptr;
  do {
    folder = ::opendir(path.c_str());
  } while (folder == nullptr && errno == EINTR);
  if (folder == nullptr) fail(path, errno);
  return std::unique_ptr<DIR, CloseFolder>(folder);
}

/// A link that leads nowhere is neither folder nor file.
FolderEntry described(const std::string& folder, std::string name) {
  const std::string path = folder + "/" + name;
  FolderEntry entry{.name = std::move(name)};
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) fail(path, errno);
  entry.link = S_ISLNK(status.st_mode);
  if (entry.link && ::stat(path.c_str(), &status) != 0) return entry;
  entry.folder = S_ISDIR(status.st_mode);
  entry.regular = S_ISREG(status.st_mode);
  entry.bytes = static_cast<std::uint64_t>(status.st_size);
  return entry;
}

}  // namespace

std::vector<FolderEntry> folder_entries(const std::string& path) {
  const auto folder = open_folder(path);
  std::vector<FolderEntry> entries;
  for (;;) {
    errno = 0;
    const dirent* next = ::readdir(folder.get());
    if (next == nullptr && errno == EINTR) continue;
    if (next == nullptr && errno != 0) fail(path, errno);
    if (next == nullptr) break;
    std::string name = next->d_name;
    if (name == "." || name == "..") continue;
    entries.push_back(described(path, std::move(name)));
  }
  std::sort(entries.begin(), entries.end(),
            [](const FolderEntry& a, const FolderEntry& b) { return a.name < b.name; });
  return entries;
}

bool is_hidden(std::string_view name) noexcept {
  return name.starts_with('.') || name == "__MACOSX" || name == "@eaDir";
}

std::string extension_of(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  const std::size_t dot = name.find_last_of('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  std::string extension(name.substr(dot));
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

bool is_folder(const std::filesystem::path& path) {
  std::error_code none;
  return std::filesystem::is_directory(path, none);
}

std::string canonical_folder(const std::filesystem::path& folder, std::string_view who,
                             std::string_view must_be) {
  std::error_code error;
  std::string root = std::filesystem::canonical(folder, error).native();
  if (error || !std::filesystem::is_directory(root)) {
    throw ConfigError("[" + std::string(who) + "] " + printable(folder.native()) + ": must be " +
                      std::string(must_be));
  }
  return root;
}

void check_link(const std::filesystem::path& link, const std::string& root, std::string_view who,
                std::optional<bool> follow) {
  const auto refuse = [&](const std::string& rule) {
    throw ConfigError("[" + std::string(who) + "] " + printable(link.native()) + ": " + rule);
  };
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(link, error);
  if (error)
    refuse("link leads nowhere (" + error.message() + "); fetch or copy the file that it names");
  const bool folder = std::filesystem::is_directory(target);
  const std::string inside = std::filesystem::canonical(link.parent_path()).native() + "/";
  if (folder && inside.starts_with(target.native() + "/"))
    refuse("link leads back to a folder that it is in; remove it");
  if (follow.value_or(false)) return;
  const std::string way_out =
      follow ? ", or set follow_links (on a command line --follow-links)" : "";
  if (!(target.native() + "/").starts_with(root + "/")) {
    refuse("link leaves the folder, to " + printable(target.native()) +
           "; copy the file, or name the folder that holds both" + way_out);
  }
  if (folder)
    refuse("link to a folder is not followed; copy it, or list that folder itself" + way_out);
}

void cannot_list(const std::filesystem::filesystem_error& failure, std::string_view who) {
  const int error = failure.code().value();
  const std::string path = printable(failure.path1().native());
  const std::string rule = "cannot be listed: " + failure.code().message();
  const std::string what = "[" + std::string(who) + "] " + path + ": " + rule;
  file_failed(what, error, "");
}

}  // namespace headrace::inline v1::detail
