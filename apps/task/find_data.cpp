#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/task/find_arrays.h>
#include <headrace/apps/task/find_data.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/image/image_formats.h>
#include <headrace/loaders/listing/data_split.h>
#include <headrace/loaders/listing/split_folders.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 8> picture_names{
    "images", "image", "imgs", "img", "input", "jpegimages", "pictures", "photos"};
constexpr std::array<std::string_view, 11> mask_names{
    "masks", "mask",   "gt_object", "gt",          "segmentationclass", "labels",
    "label", "target", "targets",   "annotations", "segmentations"};

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && !headrace::detail::is_hidden(entry.path().filename().native()))
      folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

template <std::size_t Count>
std::optional<fs::path> folder_called(const fs::path& folder,
                                      const std::array<std::string_view, Count>& names) {
  const std::vector<fs::path> folders = folders_in(folder);
  for (const std::string_view name : names)
    for (const fs::path& one : folders)
      if (lower_case(one.filename().native()) == name) return one;
  return std::nullopt;
}

std::optional<DataSet> in_a_file(const fs::path& data) {
  std::error_code failed;
  if (!fs::is_regular_file(data, failed)) return std::nullopt;
  if (is_list(data)) return DataSet{.source = RecordsIn::manifest, .file = data};
  if (is_pack(data)) return DataSet{.source = RecordsIn::pack, .file = data};
  return std::nullopt;
}

// The last component of a.b is the mask of a: "_mask" where every picture of the folder has one.
std::string suffix_of_masks(const fs::path& folder) {
  constexpr std::array<std::string_view, 6> suffixes{"_mask",  "_gt",   "_segmentation",
                                                     "_label", "-mask", "_seg"};
  std::vector<std::string> stems;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && has_image_extension(entry.path().native()))
      stems.push_back(entry.path().stem().native());
  for (const std::string_view suffix : suffixes) {
    const auto masks = std::count_if(stems.begin(), stems.end(), [&](const std::string& stem) {
      return stem.ends_with(suffix);
    });
    if (masks > 0 && 2 * static_cast<std::size_t>(masks) == stems.size())
      return std::string(suffix);
  }
  return {};
}

std::optional<DataSet> pairs_in(const fs::path& folder) {
  if (const auto masks = folder_called(folder, mask_names)) {
    auto pictures = folder_called(folder, picture_names);
    if (!pictures) {
      const std::vector<fs::path> folders = folders_in(folder);
      if (folders.size() == 2) pictures = folders[0] == *masks ? folders[1] : folders[0];
    }
    if (pictures) return DataSet{.source = RecordsIn::pairs, .folder = *pictures, .masks = *masks};
  }
  const std::string suffix = suffix_of_masks(folder);
  if (suffix.empty()) return std::nullopt;
  return DataSet{
      .source = RecordsIn::pairs, .folder = folder, .masks = folder, .mask_suffix = suffix};
}

std::optional<DataSet> classes_in(const fs::path& folder) {
  if (has_class_folders_of_arrays(folder))
    return DataSet{.source = RecordsIn::npy, .folder = folder};
  std::vector<DataSet> tables = array_tables_in(folder);
  if (tables.size() == 1) return std::move(tables.front());
  if (folders_in(folder).empty()) return std::nullopt;
  return DataSet{.source = RecordsIn::images, .folder = folder};
}

// What a word of a file's name says, "x_train".
std::optional<DataSplit> split_in_name(const fs::path& file) {
  const std::string stem = file.stem().native();
  for (std::size_t begin = 0; begin <= stem.size();) {
    const std::size_t end = std::min(stem.find_first_of("_-", begin), stem.size());
    if (auto split = split_named(stem.substr(begin, end - begin))) return split;
    begin = end + 1;
  }
  return std::nullopt;
}

// Several tables in a folder, each for what its name says; nothing for one or none.
std::optional<FoundData> parts_of_tables(const fs::path& folder) {
  std::vector<DataSet> tables = array_tables_in(folder);
  if (tables.size() < 2) return std::nullopt;
  FoundData found;
  for (DataSet& table : tables) {
    const auto split = split_in_name(table.file);
    const fs::path file = table.file;
    bool fresh = split.has_value();
    if (split == DataSplit::train) {
      fresh = !found.train.is_given();
      found.train = std::move(table);
    } else if (split) {
      auto& part = *split == DataSplit::validation ? found.validation : found.test;
      fresh = !part;
      part = std::move(table);
    }
    if (!fresh)
      throw ConfigError(fmt::format(
          "[data] {}: files of features must be one, or one each called x_train, x_validation and "
          "x_test, got {}, too; name one file, or write a configuration that names them",
          folder.string(), file.filename().string()));
  }
  if (!found.train.is_given())
    throw ConfigError(fmt::format(
        "[data] {}: must hold features to train on (x_train.npy), has none", folder.string()));
  return found;
}

// "Test", and "TestDataset" as SINet calls it.
std::optional<DataSplit> split_of_folder(const fs::path& folder) {
  constexpr std::string_view data_set = "dataset";
  std::string name = lower_case(folder.filename().native());
  if (name.ends_with(data_set)) name.resize(name.size() - data_set.size());
  return split_named(name);
}

// Folders by what they are for; nothing where none is to train on or two are for the same.
using PartFolders = std::map<DataSplit, fs::path>;
std::optional<PartFolders> part_folders(const std::vector<fs::path>& folders) {
  PartFolders parts;
  for (const fs::path& folder : folders) {
    const auto split = split_of_folder(folder);
    if (split && !parts.emplace(*split, folder).second) return std::nullopt;
  }
  if (!parts.contains(DataSplit::train)) return std::nullopt;
  return parts;
}

void put(FoundData& found, DataSplit split, DataSet set) {
  if (split == DataSplit::train) {
    found.train = std::move(set);
  } else {
    (split == DataSplit::test ? found.test : found.validation) = std::move(set);
  }
}

[[noreturn]] void refuse_several(const fs::path& folder, const std::vector<fs::path>& sets) {
  std::string names;
  for (const fs::path& set : sets)
    names += (names.empty() ? "" : ", ") + set.filename().string();
  throw ConfigError(fmt::format(
      "[data] {}: must hold a folder of pictures and one of masks, holds several data sets ({}); "
      "name the folder to train on and one of these to test on, each by itself",
      folder.string(), names));
}

// Train/Image, Train/GT_Object, Test/Image and so on. Beside them may stand what holds no pairs, as
// COD10K's Info.
std::optional<FoundData> parts_of_pairs(const fs::path& data) {
  const std::vector<fs::path> folders = folders_in(data);
  const auto parts = part_folders(folders);
  if (!parts) return std::nullopt;
  FoundData found;
  for (const fs::path& folder : folders) {
    const auto split = split_of_folder(folder);
    auto pairs = pairs_in(folder);
    if (pairs && split) {
      put(found, *split, std::move(*pairs));
      continue;
    }
    if (pairs) return std::nullopt;
    if (!split) continue;
    std::vector<fs::path> sets = folders_in(folder);
    std::erase_if(sets, [](const fs::path& set) { return !pairs_in(set); });
    if (sets.empty()) return std::nullopt;
    if (sets.size() > 1) refuse_several(folder, sets);
    put(found, *split, *pairs_in(sets.front()));
  }
  return found;
}

// CAMO's Images/Train, Images/Test and one folder GT with the masks of both.
std::optional<FoundData> parts_with_one_mask_folder(const fs::path& data) {
  const auto masks = folder_called(data, mask_names);
  const auto pictures = folder_called(data, picture_names);
  if (!masks || !pictures || part_folders(folders_in(*masks))) return std::nullopt;
  const auto parts = part_folders(folders_in(*pictures));
  if (!parts) return std::nullopt;
  FoundData found;
  for (const auto& [split, folder] : *parts)
    put(found, split,
        {.source = RecordsIn::pairs, .folder = folder, .masks = *masks, .spare_masks = true});
  return found;
}

// The folder itself, or its parts.
FoundData find(const fs::path& data,
               const std::function<std::optional<DataSet>(const fs::path&)>& look,
               const char* must_be, bool follow_links) {
  if (auto one = in_a_file(data)) return {.train = std::move(*one)};
  std::error_code failed;
  const auto refuse = [&](const fs::path& what, const char* came) {
    throw ConfigError(fmt::format("[data] {}: must be {}, got {}", what.string(), must_be, came));
  };
  if (!fs::is_directory(data, failed))
    refuse(data, fs::exists(data, failed) ? "another file" : "nothing of that name");
  const auto in_folder = [&](const fs::path& folder) {
    auto found = look(folder);
    if (!found) refuse(folder, "a folder of another kind");
    return std::move(*found);
  };
  const std::optional<SplitFolders> parts = split_folders(data, follow_links);
  if (!parts) return {.train = in_folder(data)};
  FoundData found{.train = in_folder(parts->train)};
  if (!parts->validation.empty()) found.validation = in_folder(parts->validation);
  if (!parts->test.empty()) found.test = in_folder(parts->test);
  return found;
}

}  // namespace

std::optional<DataSet> part_of(const FoundData& found, const std::string& split) {
  const std::optional<DataSplit> part =
      split.empty() || split == "all" ? DataSplit::test : split_named(split);
  if (!part)
    throw ConfigError("[evaluate] --split must be train, validation, test or all, got \"" + split +
                      '"');
  if (!found.validation && !found.test) return std::nullopt;
  const std::string parts = std::string("train") + (found.validation ? ", validation" : "") +
                            (found.test ? ", test" : "");
  if (split == "all")
    throw ConfigError("[evaluate] --split all: the data lie in parts, " + parts + "; name one");
  if (*part == DataSplit::train) return found.train;
  const std::optional<DataSet>& set =
      *part == DataSplit::validation ? found.validation : found.test;
  if (!set)
    throw ConfigError("[evaluate] --split must be one of the parts of the data, " + parts +
                      ", got " + (split.empty() ? "none, and there is no test" : split));
  return set;
}

FoundData find_classes(const fs::path& data, bool follow_links) {
  std::error_code failed;
  if (fs::is_directory(data, failed))
    if (auto parts = parts_of_tables(data)) return std::move(*parts);
  if (fs::is_regular_file(data, failed))
    if (auto arrays = arrays_in_file(data)) return {.train = std::move(*arrays)};
  return find(data, classes_in,
              "a folder with a folder for each class (or folders train, validation, test of such), "
              "a manifest (.csv, .tsv, .jsonl), a pack, an HDF5 file (.h5, MATLAB's .mat), or .npy "
              "files of features and labels (x.npy, y.npy)",
              follow_links);
}

FoundData find_masks(const fs::path& data, const fs::path& masks, const std::string& suffix,
                     bool follow_links) {
  if (!masks.empty() || !suffix.empty())
    return {.train = {.source = RecordsIn::pairs,
                      .folder = data,
                      .masks = masks.empty() ? data : masks,
                      .mask_suffix = suffix}};
  std::error_code failed;
  if (fs::is_directory(data, failed)) {
    if (auto parts = parts_of_pairs(data)) return std::move(*parts);
    if (auto parts = parts_with_one_mask_folder(data)) return std::move(*parts);
  }
  return find(
      data, pairs_in,
      "a folder with a folder of pictures and one of masks (images and masks; or folders "
      "train, validation, test of such), pictures beside their masks (7.jpg, 7_mask.png), a "
      "manifest (.csv, .tsv, .jsonl) with a column \"mask\", or a pack; else name the masks' "
      "folder with --masks",
      follow_links);
}

}  // namespace headrace::inline v1::app
