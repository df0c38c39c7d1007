#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/data_split.h>
#include <headrace/loaders/listing/split_folders.h>

#include <algorithm>
#include <iterator>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view who = "split folders";

[[noreturn]] void refuse(const fs::path& path, const std::string& rule) {
  throw ConfigError("[split folders] " + detail::printable(path.native()) + ": " + rule);
}

/// Names of the folders in a folder, sorted; a link is checked as image sources do.
std::vector<std::string> folders_in(const std::string& folder, const std::string& root,
                                    bool follow_links) {
  std::vector<std::string> names;
  try {
    for (const detail::FolderEntry& entry : detail::folder_entries(folder)) {
      if (detail::is_hidden(entry.name) || !entry.folder) continue;
      if (entry.link) detail::check_link(folder + "/" + entry.name, root, who, follow_links);
      names.push_back(entry.name);
    }
  } catch (const fs::filesystem_error& failure) {
    detail::cannot_list(failure, who);
  }
  return names;
}

std::string missing_in(const std::vector<std::string>& names, const std::vector<std::string>& of) {
  std::vector<std::string> missing;
  std::set_difference(of.begin(), of.end(), names.begin(), names.end(),
                      std::back_inserter(missing));
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(missing.size(), 10); ++i)
    text += (i == 0 ? "\"" : ", \"") + detail::printable(missing[i]) + "\"";
  return missing.size() > 10 ? text + " and more" : text;
}

/// All parts must hold the folders that train holds.
void check_classes(const fs::path& part, const std::vector<std::string>& there,
                   const std::vector<std::string>& classes) {
  if (there == classes) return;
  const std::string lacks = missing_in(there, classes);
  const std::string more = missing_in(classes, there);
  refuse(part, "must hold the folders that train holds, " +
                   (lacks.empty() ? std::string() : "lacks " + lacks) +
                   (lacks.empty() || more.empty() ? "" : ", ") +
                   (more.empty() ? std::string() : "has besides " + more) +
                   "; a part that lacks classes can be named in a configuration, or by itself "
                   "(data.test.folder)");
}

struct Part {
  std::string name;
  DataSplit split;
};

/// The folders of splits, and those that are none.
struct Found {
  std::vector<Part> parts;
  std::vector<std::string> others;

  explicit Found(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (const auto split = split_named(name)) {
        parts.push_back({name, *split});
      } else {
        others.push_back(name);
      }
    }
  }
  bool has(DataSplit split) const { return std::ranges::count(parts, split, &Part::split) > 0; }
};

}  // namespace

std::optional<SplitFolders> split_folders(const fs::path& folder, bool follow_links) {
  const std::string root = detail::canonical_folder(folder, who, "a folder");
  const Found found(folders_in(root, root, follow_links));
  const bool divided =
      found.has(DataSplit::train) &&
      (found.others.empty() || found.has(DataSplit::validation) || found.has(DataSplit::test));
  if (!divided) return std::nullopt;
  if (!found.others.empty()) {
    refuse(fs::path(root) / found.others.front(),
           "folders beside train must be called validation or test; put it elsewhere, or name the "
           "parts in a configuration (data.train.folder)");
  }
  SplitFolders splits;
  fs::path* const places[] = {&splits.train, &splits.validation, &splits.test};
  for (const Part& part : found.parts) {
    fs::path& place = *places[static_cast<std::size_t>(part.split)];
    if (!place.empty()) {
      refuse(fs::path(root) / part.name,
             "must be the only folder of its split, is one beside " +
                 detail::printable(place.filename().native()) +
                 "; put one elsewhere, or name the parts in a configuration (data.train.folder)");
    }
    place = fs::path(root) / part.name;
  }
  splits.classes = folders_in(splits.train.native(), root, follow_links);
  for (const fs::path& part : {splits.validation, splits.test}) {
    if (!part.empty())
      check_classes(part, folders_in(part.native(), root, follow_links), splits.classes);
  }
  return splits;
}

}  // namespace headrace::inline v1
