#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/cache_settings.h>
#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/feed/loader_settings.h>
#include <headrace/apps/task/duplicates.h>
#include <headrace/apps/task/split.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

enum class RecordsIn : unsigned char { images, manifest, pairs, pack, npy, hdf5, volumes };

/// Where records lie: a section of `data`.
struct DataSet {
  RecordsIn source = RecordsIn::images;
  /// Images, npy: a folder for each class; pairs: the images; volumes: nnU-Net's raw layout.
  std::filesystem::path folder{};
  std::filesystem::path masks{};  ///< pairs: the masks
  std::string mask_suffix{};      ///< pairs: of a mask's name before its extension
  bool spare_masks = false;       ///< pairs: masks without a picture are passed over
  bool spare_pictures = false;    ///< pairs: pictures without a mask are passed over
  std::filesystem::path file{};   ///< manifest, pack, hdf5; npy: a list of files, or the features
  std::filesystem::path root{};   ///< of a list's paths; empty: its own folder
  ManifestColumns columns{};      ///< of a list
  std::string data{};             ///< hdf5: dataset of the features
  std::string labels{};           ///< hdf5: their dataset; npy: the file of those of `file`
  std::string groups{};           ///< likewise; empty: none are known
  std::vector<std::string> classes{};  ///< hdf5, npy: names by label; empty: as the data say
  bool multi_label = false;            ///< flags of a record may be any number of ones

  bool is_given() const { return !folder.empty() || !file.empty(); }
};

/// The section `data` of a task.
struct TaskData {
  DataSet train{};
  DataSet validation{};  ///< not given: a share of `train`
  DataSet test{};        ///< not given: a share of `train`
  SplitSettings split{};
  DuplicateSettings duplicates{};
  std::filesystem::path listings = "runs/listings";  ///< kept between runs; empty: none
  bool follow_links = false;  ///< out of a folder or a list's root, and to folders; false: refused
  CacheSettings cache{};
  DecodeSettings decode{.check = FileCheck::quick};
  Bytes resident{2ULL << 30};     ///< npy, hdf5: most of each set that is kept in memory
  std::filesystem::path stage{};  ///< hdf5: folder that files are copied to; empty: none
  std::int64_t epoch_size = 0;    ///< samples of an epoch; 0: every record once
  int prefetch = 4;               ///< batches ahead of the trainer

  /// Samples of an epoch over so many records.
  std::int64_t samples_of(std::int64_t records) const {
    return epoch_size > 0 && records > 0 ? epoch_size : records;
  }
};

/// Whether records are arrays of numbers, features and spectrograms, and no pictures.
bool holds_arrays(RecordsIn source);
inline bool holds_arrays(const TaskData& data) {
  return holds_arrays(data.train.source);
}

/// Whether records are volumes in nnU-Net's raw layout.
inline bool holds_volumes(const TaskData& data) {
  return data.train.source == RecordsIn::volumes;
}

/// Latin letters in small.
std::string lower_case(std::string text);

/// Whether a file is a list of files (.csv, .tsv, .jsonl), by its name.
bool is_list(const std::filesystem::path& file);

/// Its keys; `masks`: whether pictures have some.
void describe(Fields& fields, TaskData& data, bool masks);

/// Throws ConfigError for keys that contradict each other.
void check(const TaskData& data);

/// Its pictures as they are opened; `section` names it in messages ("data.train"). Throws
/// ConfigError where nothing is named.
ImageData image_data_of(const DataSet& set, const TaskData& data, const std::string& section);

}  // namespace headrace::inline v1::app
