#pragma once

#include <headrace/apps/task/find_data.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Arrays in a file: an HDF5 file, a list of .npy files, or a .npy file of features with its labels
/// beside it (x.npy and y.npy, features.npy and labels.npy, train_x.npy and train_y.npy). Nothing
/// for another file. Datasets that an HDF5 file has for validation and test are those parts. Throws
/// ConfigError where there are no labels; of an HDF5 file with the reason for each of its datasets.
std::optional<FoundData> arrays_in_file(const std::filesystem::path& file);

/// Files of features in a folder that have labels beside them, by name.
std::vector<DataSet> array_tables_in(const std::filesystem::path& folder);

/// Whether the folders in a folder, at any depth, hold .npy files before any picture.
bool has_class_folders_of_arrays(const std::filesystem::path& folder);

/// What was chosen of data to train on, and what an HDF5 file has beside it and the other parts,
/// for a person: a line each.
std::vector<std::string> describe_choice(const FoundData& found);

}  // namespace headrace::inline v1::app
