#include <headrace/apps/task/find_data.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/mask_suffix.h>
#include <headrace/loaders/listing/data_split.h>

#include <algorithm>
#include <array>
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

template <std::size_t Count>
std::optional<fs::path> folder_called(const fs::path& folder,
                                      const std::array<std::string_view, Count>& names) {
  const std::vector<fs::path> folders = folders_in(folder);
  for (const std::string_view name : names)
    for (const fs::path& one : folders)
      if (lower_case(one.filename().native()) == name) return one;
  return std::nullopt;
}

// What masks' names end in, "" if that is to be found out, and how their folders are listed.
struct MaskSearch {
  std::string suffix{};
  bool follow_links = false;
};

// Where pictures and their masks lie; what the masks' names end in is found out if it is not given.
DataSet pairs_of(const fs::path& pictures, const fs::path& masks, const MaskSearch& search) {
  DataSet pairs{
      .source = RecordsIn::pairs, .folder = pictures, .masks = masks, .mask_suffix = search.suffix};
  if (!search.suffix.empty()) return pairs;
  const std::vector<std::string> found = find_mask_suffixes(pictures, masks, search.follow_links);
  if (found.size() > 1 && !found.front().empty())
    throw ConfigError(fmt::format(
        "[data] {}: masks must be told by what their names end in, but as many end in \"{}\" as in "
        "\"{}\"; say which they are: --mask-suffix={}, or the key mask_suffix",
        masks.string(), found[0], found[1], found[0]));
  if (!found.empty()) pairs.mask_suffix = found.front();
  return pairs;
}

bool holds_name_with(const fs::path& folder, const std::string& suffix) {
  return std::ranges::any_of(fs::recursive_directory_iterator(folder),
                             [&](const fs::directory_entry& entry) {
                               return entry.path().stem().native().ends_with(suffix);
                             });
}

std::optional<DataSet> pairs_in(const fs::path& folder, const MaskSearch& search) {
  if (const auto masks = folder_called(folder, mask_names)) {
    auto pictures = folder_called(folder, picture_names);
    if (!pictures) {
      const std::vector<fs::path> folders = folders_in(folder);
      if (folders.size() == 2) pictures = folders[0] == *masks ? folders[1] : folders[0];
    }
    if (pictures) return pairs_of(*pictures, *masks, search);
  }
  if (!search.suffix.empty() && !holds_name_with(folder, search.suffix)) return std::nullopt;
  DataSet beside = pairs_of(folder, folder, search);
  if (beside.mask_suffix.empty()) return std::nullopt;
  return beside;
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
std::optional<FoundData> parts_of_pairs(const fs::path& data, const MaskSearch& search) {
  const std::vector<fs::path> folders = folders_in(data);
  const auto parts = part_folders(folders);
  if (!parts) return std::nullopt;
  FoundData found;
  for (const fs::path& folder : folders) {
    const auto split = split_of_folder(folder);
    auto pairs = pairs_in(folder, search);
    if (pairs && split) {
      put(found, *split, std::move(*pairs));
      continue;
    }
    if (pairs) return std::nullopt;
    if (!split) continue;
    std::vector<fs::path> sets = folders_in(folder);
    std::erase_if(sets, [&](const fs::path& set) { return !pairs_in(set, search); });
    if (sets.empty()) return std::nullopt;
    if (sets.size() > 1) refuse_several(folder, sets);
    put(found, *split, *pairs_in(sets.front(), search));
  }
  return found;
}

// CAMO's Images/Train, Images/Test and one folder GT with the masks of both.
std::optional<FoundData> parts_with_one_mask_folder(const fs::path& data,
                                                    const MaskSearch& search) {
  const auto masks = folder_called(data, mask_names);
  const auto pictures = folder_called(data, picture_names);
  if (!masks || !pictures || part_folders(folders_in(*masks))) return std::nullopt;
  const auto parts = part_folders(folders_in(*pictures));
  if (!parts) return std::nullopt;
  FoundData found;
  for (const auto& [split, folder] : *parts) {
    DataSet pairs = pairs_of(folder, *masks, search);
    pairs.spare_masks = true;
    put(found, split, std::move(pairs));
  }
  return found;
}

// Parts of pictures with masks; nothing where folders are called otherwise.
std::optional<FoundData> parts_with_masks(const fs::path& data, const MaskSearch& search) {
  std::error_code failed;
  if (!fs::is_directory(data, failed)) return std::nullopt;
  if (auto parts = parts_of_pairs(data, search)) return parts;
  return parts_with_one_mask_folder(data, search);
}

}  // namespace

FoundData find_masks(const fs::path& data, const fs::path& masks, const std::string& suffix,
                     bool follow_links) {
  const MaskSearch search{suffix, follow_links};
  if (!masks.empty()) return {.train = pairs_of(data, masks, search)};
  if (auto parts = parts_with_masks(data, search)) return std::move(*parts);
  return find_with(
      data, [&](const fs::path& folder) { return pairs_in(folder, search); },
      "a folder with a folder of pictures and one of masks (images and masks; or folders "
      "train, validation, test of such), pictures beside their masks (7.jpg, 7_mask.png), a "
      "manifest (.csv, .tsv, .jsonl) with a column \"mask\", or a pack; else name the masks' "
      "folder with --masks",
      follow_links);
}

FoundData find_pictures(const fs::path& data, bool follow_links) {
  const MaskSearch search{{}, follow_links};
  // Beside "mask" the class "no_mask" holds no pictures of masks.
  const auto sure = [](const DataSet& pairs) {
    const auto named = [](const fs::path& folder) {
      return std::ranges::find(picture_names, lower_case(folder.filename().native())) !=
             picture_names.end();
    };
    return pairs.folder == pairs.masks || named(pairs.folder) || named(pairs.folder.parent_path());
  };
  if (auto parts = parts_with_masks(data, search); parts && sure(parts->train))
    return std::move(*parts);
  const auto look = [&](const fs::path& folder) -> std::optional<DataSet> {
    auto pairs = pairs_in(folder, search);
    return pairs && sure(*pairs) ? pairs : DataSet{.source = RecordsIn::images, .folder = folder};
  };
  return find_with(data, look, "a folder of pictures, a manifest (.csv, .tsv, .jsonl) or a pack",
                   follow_links);
}

}  // namespace headrace::inline v1::app
