#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/nnunet_raw.h>

#include <filesystem>
#include <optional>
#include <vector>

namespace headrace::inline v1 {

/// Two folders that hold a file a case each, image and label under one name, and nothing that says
/// what labels mean: as the Vesuvius challenge's train_images and train_labels do.
struct PlainVolumes {
  std::filesystem::path images{};
  std::filesystem::path labels{};
};

/// Those of a data set's folder: train_images and train_labels, or images and labels; none where
/// it has no such folders.
HEADRACE_API std::optional<PlainVolumes> plain_volumes_in(const std::filesystem::path& folder);

/// Where the labels of a folder of images are by its name, whether they are there or not: the same
/// name with "labels" for "images", labelsTs of imagesTs; empty for other names.
HEADRACE_API std::filesystem::path labels_beside(const std::filesystem::path& images);

/// Cases of all files of a folder that are named as volumes (is_named_as_volume()), by name: that
/// of the file without its ending. Labels are the files of the same name in `labels` that are
/// there; empty: none. Hidden files and others are left out; nothing is opened. Throws ConfigError
/// for a folder without volumes, for two of one name, and where `all_labelled` for an image without
/// a label.
HEADRACE_API std::vector<NnUNetCase> list_plain_volumes(const PlainVolumes& where,
                                                        bool all_labelled);

}  // namespace headrace::inline v1
