#include <headrace/engine/base/error.h>
#include <headrace/engine/base/utf8.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/detail/manifest_rows.h>
#include <headrace/loaders/listing/internal/class_folders.h>

#include <algorithm>
#include <filesystem>

namespace headrace::inline v1::detail {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const FileSearch& search, const std::string& path,
                         const std::string& rule) {
  throw ConfigError("[" + std::string(search.who) + "] " + printable(path) + ": " + rule);
}

/// Hidden; counted.
bool is_left_out(const FileSearch& search, const FolderEntry& entry) {
  if (!is_hidden(entry.name)) return false;
  if (search.passed_over != nullptr) search.passed_over->add("hidden");
  return true;
}

bool begins_as_wanted(const FileSearch& search, const std::string& path) {
  return search.passed_over != nullptr &&
         search.passed_over->take(search.root + "/" + path, search.is_wanted_start);
}

/// Canonical folders with a link on the way here.
using Way = std::vector<std::string>;

/// Goes through a link to a folder.
void follow(const FileSearch& search, const fs::path& folder, const std::string& link, Way& way) {
  const std::string target = fs::canonical(link).native() + "/";
  way.push_back(fs::canonical(folder).native());
  for (const std::string& before : way)
    if ((before + "/").starts_with(target))
      refuse(search, link, "link leads back to a folder that it is in; remove it");
}

void list_below(const FileSearch& search, const std::string& below, Way& way,
                std::vector<ListedFile>& files) {
  const std::string folder = below.empty() ? search.root : search.root + "/" + below;
  if (search.on_folder) search.on_folder(folder);
  for (const FolderEntry& entry : folder_entries(folder)) {
    if (is_left_out(search, entry)) continue;
    const std::string path = below.empty() ? entry.name : below + "/" + entry.name;
    if (entry.link)
      check_link(search.root + "/" + path, search.root, search.who, search.follow_links);
    if (entry.folder) {
      if (entry.link) follow(search, folder, search.root + "/" + path, way);
      list_below(search, path, way, files);
      if (entry.link) way.pop_back();
    } else if (entry.regular && (search.is_wanted(path) || begins_as_wanted(search, path))) {
      files.push_back({path, entry.bytes});
    }
  }
}

std::vector<std::string> class_folders(const FileSearch& search) {
  std::vector<std::string> names;
  if (search.on_folder) search.on_folder(search.root);
  try {
    for (const FolderEntry& entry : folder_entries(search.root)) {
      if (is_left_out(search, entry)) continue;
      if (entry.link)
        check_link(search.root + "/" + entry.name, search.root, search.who, search.follow_links);
      if (!entry.folder) {
        if (search.passed_over != nullptr) search.passed_over->add("beside the class folders");
        continue;
      }
      if (!is_utf8(entry.name)) {
        refuse(search, search.root + "/" + entry.name,
               "name of a class must be UTF-8, got other bytes; rename it");
      }
      names.push_back(entry.name);
    }
  } catch (const fs::filesystem_error& failure) {
    cannot_list(failure, search.who);
  }
  if (names.empty()) refuse(search, search.root, "must hold one folder per class, got none");
  return names;
}

[[noreturn]] void refuse_empty(FileSearch search, const std::string& name) {
  PassedOver there;
  search.passed_over = &there;
  list_files(search, name);
  refuse(search, search.root + "/" + name,
         "class folder must hold " + std::string(search.what) + ", got none" + there.in_brackets() +
             "; fill it, or move it out of the folder of classes");
}

/// The number of a class folder.
std::int32_t label_of(const FileSearch& search, const std::string& name,
                      const std::vector<std::string>& classes) {
  const auto at = std::find(classes.begin(), classes.end(), name);
  if (at == classes.end()) {
    const std::string meant = suggestion(name, classes);
    refuse(search, search.root + "/" + name,
           "must be one of the " + std::to_string(classes.size()) + " classes" +
               (meant.empty() ? "; rename it, or put it elsewhere" : meant));
  }
  return static_cast<std::int32_t>(at - classes.begin());
}

}  // namespace

std::vector<ListedFile> list_files(const FileSearch& search, const std::string& below) {
  std::vector<ListedFile> files;
  Way way;
  try {
    list_below(search, below, way, files);
  } catch (const fs::filesystem_error& failure) {
    cannot_list(failure, search.who);
  }
  std::ranges::sort(files, {}, &ListedFile::path);
  return files;
}

ClassFiles list_class_folders(const FileSearch& search, const std::vector<std::string>& classes) {
  ClassFiles found;
  found.files.root = search.root;
  const std::vector<std::string> folders = class_folders(search);
  found.values.classes = classes.empty() ? folders : classes;
  for (const std::string& name : folders) {
    const std::int32_t label = label_of(search, name, found.values.classes);
    const std::vector<ListedFile> files = list_files(search, name);
    if (files.empty()) refuse_empty(search, name);
    for (const ListedFile& file : files)
      found.files.add(file.path, file.bytes);
    found.values.labels.resize(found.files.size(), label);
  }
  return found;
}

}  // namespace headrace::inline v1::detail
