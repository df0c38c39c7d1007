#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/cache_settings.h>
#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/task/split.h>

#include <filesystem>
#include <string>

namespace headrace::inline v1::app {

enum class RecordsIn : unsigned char { images, manifest, pairs, pack };

/// Where records lie: a section of `data`.
struct DataSet {
  RecordsIn source = RecordsIn::images;
  std::filesystem::path folder{};  ///< images: a folder for each class; pairs: the images
  std::filesystem::path masks{};   ///< pairs: the masks
  std::string mask_suffix{};       ///< pairs: of a mask's name before its extension
  std::filesystem::path file{};    ///< manifest, pack
  std::filesystem::path root{};    ///< manifest: of its paths; empty: its own folder
  ManifestColumns columns{};       ///< manifest

  bool is_given() const { return !folder.empty() || !file.empty(); }
};

/// The section `data` of a task.
struct TaskData {
  DataSet train{};
  DataSet validation{};  ///< not given: a share of `train`
  DataSet test{};        ///< not given: a share of `train`
  SplitSettings split{};
  std::filesystem::path listings = "runs/listings";  ///< kept between runs; empty: none
  CacheSettings cache{};
  int prefetch = 4;  ///< batches ahead of the trainer
};

/// Its keys; `masks`: whether pictures have some.
void describe(Fields& fields, TaskData& data, bool masks);

/// Throws ConfigError for keys that contradict each other.
void check(const TaskData& data);

/// Its pictures as they are opened; `section` names it in messages ("data.train"). Throws
/// ConfigError where nothing is named.
ImageData image_data_of(const DataSet& set, const TaskData& data, const std::string& section);

}  // namespace headrace::inline v1::app
