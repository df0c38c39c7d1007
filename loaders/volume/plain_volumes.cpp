#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/plain_volumes.h>

#include <map>
#include <string>
#include <string_view>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view plain_volumes_name = "volumes";

[[noreturn]] void refuse_volumes(const fs::path& place, const std::string& rule) {
  throw ConfigError("[" + std::string(plain_volumes_name) + "] " +
                    detail::printable(place.native()) + ": " + rule);
}

// "scan" of scan.tif and scan.nii.gz.
std::string case_of(const std::string& file) {
  const std::string_view packed = ".gz";
  std::string name = file;
  if (name.ends_with(packed)) name.resize(name.size() - packed.size());
  return name.substr(0, name.rfind('.'));
}

// Files by case.
std::map<std::string, fs::path> files_in(const fs::path& folder) {
  std::map<std::string, fs::path> files;
  try {
    for (const detail::FolderEntry& entry : detail::folder_entries(folder.native())) {
      if (entry.name.starts_with('.') || !is_named_as_volume(entry.name)) continue;
      const auto [other, first] = files.emplace(case_of(entry.name), folder / entry.name);
      if (!first)
        refuse_volumes(folder,
                       "each case must have one file, got " +
                           detail::quoted(other->second.filename().string()) + " and " +
                           detail::quoted(entry.name) +
                           "; leave the one that is meant here, and put the other elsewhere");
    }
  } catch (const fs::filesystem_error& failure) {
    detail::cannot_list(failure, plain_volumes_name);
  }
  return files;
}

}  // namespace

std::optional<PlainVolumes> plain_volumes_in(const fs::path& folder) {
  for (const char* begin : {"train_", ""}) {
    const PlainVolumes found{.images = folder / (std::string(begin) + "images"),
                             .labels = folder / (std::string(begin) + "labels")};
    if (detail::is_folder(found.images) && detail::is_folder(found.labels)) return found;
  }
  return {};
}

fs::path labels_beside(const fs::path& images) {
  constexpr std::string_view word = "images";
  const fs::path folder = images.has_filename() ? images : images.parent_path();
  std::string name = folder.filename().string();
  const std::size_t at = name.find(word);
  if (at == std::string::npos) return {};
  return folder.parent_path() / name.replace(at, word.size(), "labels");
}

std::vector<NnUNetCase> list_plain_volumes(const PlainVolumes& where, bool all_labelled) {
  const std::map<std::string, fs::path> images = files_in(where.images);
  if (images.empty()) refuse_volumes(where.images, "must hold volumes, NAME.tif say, has none");
  std::map<std::string, fs::path> labels;
  if (!where.labels.empty()) labels = files_in(where.labels);
  std::vector<NnUNetCase> cases;
  for (const auto& [name, image] : images) {
    const auto label = labels.find(name);
    if (label == labels.end() && all_labelled)
      refuse_volumes(image, "an image must have a label of its name in " +
                                detail::printable(where.labels.native()) +
                                ", has none; add it, or take the image away");
    cases.push_back({.name = name,
                     .images = {image},
                     .label = label == labels.end() ? fs::path() : label->second});
  }
  return cases;
}

}  // namespace headrace::inline v1
