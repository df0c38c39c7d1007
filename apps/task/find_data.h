#pragma once

#include <headrace/apps/task/data_set.h>

#include <filesystem>
#include <optional>

namespace headrace::inline v1::app {

/// Where the records of a data set lie, by what its folders are called.
struct FoundData {
  DataSet train{};
  std::optional<DataSet> validation{};  ///< found beside it
  std::optional<DataSet> test{};
};

/// Of pictures with a class each: a manifest (.csv, .tsv, .jsonl), a pack, a folder with a folder
/// for each class, or one of folders train, validation (val, valid) and test of such. Throws
/// ConfigError that says what a data set must look like.
FoundData find_classes(const std::filesystem::path& data);

/// Of pictures with masks: a manifest, a pack, a folder with a folder of pictures and one of masks
/// (images and masks, Imgs and GT_Object, JPEGImages and SegmentationClass and the like), a folder
/// where masks lie beside their pictures (7.jpg, 7_mask.png), or one of folders train, validation
/// and test of such. `masks`: their folder, where `data` is that of the pictures.
FoundData find_masks(const std::filesystem::path& data, const std::filesystem::path& masks = {});

}  // namespace headrace::inline v1::app
