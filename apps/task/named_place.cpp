#include <headrace/apps/task/named_place.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> meant(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry(path.has_parent_path() ? path.parent_path() : ".", failed), end;
       !failed && entry != end; entry.increment(failed))
    names.push_back(entry->path().filename().native());
  return nearest_name(path.filename().native(), names);
}

}  // namespace

void require_place(const std::string& key, const fs::path& value, bool folder) {
  const fs::path path = value.has_filename() ? value : value.parent_path();
  std::error_code failed;
  const fs::file_status found = fs::status(path, failed);
  const char* must = folder ? "folder" : "file";
  if (!fs::exists(found)) {
    const auto near = meant(path);
    throw ConfigError(fmt::format(
        "[config] {} must be a {} that is there, nothing is called {}{}", key, must,
        clean_text(value.native()),
        near ? fmt::format("; did you mean {}?", clean_text((path.parent_path() / *near).native()))
             : fmt::format("; paths that do not begin with / are taken from {}",
                           clean_text(fs::current_path(failed).native()))));
  }
  if (fs::is_directory(found) != folder)
    throw ConfigError(fmt::format("[config] {} must be a {}, got the {} {}", key, must,
                                  folder ? "file" : "folder", clean_text(value.native())));
}

void require_places(const DataSet& set, const std::string& section) {
  const auto require = [&](const char* key, const fs::path& value, bool folder) {
    if (!value.empty()) require_place(section + key, value, folder);
  };
  require(".folder", set.folder, true);
  require(".masks", set.masks, true);
  require(".file", set.file, false);
  require(".root", set.root, true);
  if (set.source != RecordsIn::npy) return;
  require(".labels", set.labels, false);
  require(".groups", set.groups, false);
}

}  // namespace headrace::inline v1::app
