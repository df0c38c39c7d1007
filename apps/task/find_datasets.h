#pragma once

#include <headrace/loaders/listing/data_split.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// What arrays of features and labels are called, the likeliest first.
inline constexpr std::array<std::string_view, 12> data_names{
    "x",   "data",         "features",    "feature", "inputs",     "input",
    "mel", "spectrograms", "spectrogram", "specs",   "embeddings", "vectors"};
inline constexpr std::array<std::string_view, 9> label_names{
    "y", "labels", "label", "targets", "target", "classes", "class", "one_hot", "onehot"};

/// Whether a word is one of the names, in any case.
bool is_called(const std::string& word, std::span<const std::string_view> names);

/// Datasets of an HDF5 file that look like records and what is known of them.
struct FoundDatasets {
  std::string data{};
  std::string labels{};   ///< empty: none looks like labels
  bool flags = false;     ///< labels are [records, classes]
  std::string groups{};   ///< empty: none looks like groups
  std::string reasons{};  ///< where there are no labels: of each dataset why not
};

/// What an HDF5 file holds for each part.
struct FoundFile {
  FoundDatasets train{};
  std::optional<FoundDatasets> validation{};  ///< with labels
  std::optional<FoundDatasets> test{};
  std::vector<std::string> others{};  ///< "/z float32 [100, 9]": each that no part has
};

/// Whether a file is an HDF5 file, by its name; MATLAB's (.mat), too.
bool is_hdf5(const std::filesystem::path& file);

/// By name (x, data, features; y, labels, targets; groups, patient_id and the like), else the
/// largest dataset is the data, and one of whole numbers with as many rows the labels. Strings are
/// labels and groups by name alone, and never data. Paths may say for which part they are (x_test,
/// test/x): to train on are those that say so, else also those that say nothing, else any. Throws
/// ConfigError with the reason for each dataset where none can be data, and what opening the file
/// throws.
FoundFile find_datasets(const std::filesystem::path& file);

/// What a word of a name says: "x_train", "test/x".
std::optional<DataSplit> split_in_name(std::string_view name);

}  // namespace headrace::inline v1::app
