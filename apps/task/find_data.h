#pragma once

#include <headrace/apps/task/data_set.h>

#include <filesystem>
#include <optional>
#include <string>

namespace headrace::inline v1::app {

/// Where the records of a data set lie, by what its folders are called.
struct FoundData {
  DataSet train{};
  std::optional<DataSet> validation{};  ///< found beside it
  std::optional<DataSet> test{};
};

/// What an evaluation asks for by `split`: train, validation, test, "all", or "" for the test where
/// there is one. Nothing where the records lie together, so that a column decides, or all are
/// meant. Throws ConfigError for another word, and for a part that is not among those found.
std::optional<DataSet> part_of(const FoundData& found, const std::string& split);

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
/// the pictures.
FoundData find_masks(const std::filesystem::path& data, const std::filesystem::path& masks = {},
                     const std::string& suffix = {}, bool follow_links = false);

}  // namespace headrace::inline v1::app
