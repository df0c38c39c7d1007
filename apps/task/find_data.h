#pragma once

#include <headrace/apps/task/data_set.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Where the records of a data set lie, by what its folders are called.
struct FoundData {
  DataSet train{};
  std::optional<DataSet> validation{};  ///< found beside it
  std::optional<DataSet> test{};
  std::vector<std::string> left_out{};  ///< datasets of a file that no part has, with their shapes
};

/// What an evaluation asks for by `split`: train, validation, test, "all", or "" for the test where
/// there is one. Nothing where the records lie together, so that a column decides, or all are
/// meant. Throws ConfigError for another word, and for a part that is not among those found.
std::optional<DataSet> part_of(const FoundData& found, const std::string& split);

/// The folders in a folder but hidden ones, sorted.
std::vector<std::filesystem::path> folders_in(const std::filesystem::path& folder);

/// What a folder holds; nothing where it is of another kind.
using LookAtFolder = std::function<std::optional<DataSet>(const std::filesystem::path& folder)>;

/// A list or a pack, or what `look` says of the folder, or of each of its folders train, validation
/// and test. Throws ConfigError for all else, with what it `must_be`.
FoundData find_with(const std::filesystem::path& data, const LookAtFolder& look,
                    const char* must_be, bool follow_links);

/// Of pictures with a class each: a manifest (.csv, .tsv, .jsonl), a pack, a folder with a folder
/// for each class, or one of folders train, validation (val, valid) and test of such; of arrays the
/// same with .npy files, or what find_arrays.h finds. Throws ConfigError that says what a data set
/// must look like, and for links out of `data` unless they are followed.
FoundData find_classes(const std::filesystem::path& data, bool follow_links = false);

/// Of pictures with masks: a manifest, a pack, a folder with a folder of pictures and one of masks
/// (images and masks, Imgs and GT_Object, JPEGImages and SegmentationClass and the like), a folder
/// where masks lie beside their pictures (7.jpg, 7_mask.png), or one of folders train, validation
/// and test (TrainDataset and so on, too) of such; or folders of pictures Images/Train, Images/Test
/// and one of the masks of all of them, as CAMO has. `masks`: their folder, where `data` is that of
/// the pictures. `suffix`: what masks' names end in; empty: as find_mask_suffixes() says. Throws
/// ConfigError, too, where several suffixes do as well.
FoundData find_masks(const std::filesystem::path& data, const std::filesystem::path& masks = {},
                     const std::string& suffix = {}, bool follow_links = false);

/// Of pictures that are to be looked at: as find_masks() where names say that there are masks, else
/// as find_classes() of pictures.
FoundData find_pictures(const std::filesystem::path& data, bool follow_links = false);

}  // namespace headrace::inline v1::app
