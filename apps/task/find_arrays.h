#pragma once

#include <headrace/apps/task/data_set.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Datasets of an HDF5 file that look like records and what is known of them.
struct FoundDatasets {
  std::string data{};
  std::string labels{};  ///< empty: none looks like labels
  std::string groups{};  ///< likewise
};

/// Whether a file is an HDF5 file, by its name.
bool is_hdf5(const std::filesystem::path& file);

/// By name (x, data, features; y, labels, targets; groups, patients and the like), else the largest
/// dataset is the data, and one of whole numbers with as many rows the labels. Throws ConfigError
/// where no dataset can be data, and what opening the file throws.
FoundDatasets find_datasets(const std::filesystem::path& file);

/// Arrays in a file: an HDF5 file, a list of .npy files, or a .npy file of features with its labels
/// beside it (x.npy and y.npy, features.npy and labels.npy, train_x.npy and train_y.npy). Nothing
/// for another file. Throws ConfigError where there are no labels.
std::optional<DataSet> arrays_in_file(const std::filesystem::path& file);

/// Files of features in a folder that have labels beside them, by name.
std::vector<DataSet> array_tables_in(const std::filesystem::path& folder);

/// Whether the folders in a folder, at any depth, hold .npy files before any picture.
bool has_class_folders_of_arrays(const std::filesystem::path& folder);

/// What was chosen of a data set, for a person: a line each.
std::vector<std::string> describe_choice(const DataSet& set);

}  // namespace headrace::inline v1::app
