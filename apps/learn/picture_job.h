#pragma once

#include <headrace/apps/feed/data_part.h>
#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/feed/pictures.h>
#include <headrace/apps/learn/task_config.h>
#include <headrace/apps/task/channel_statistics.h>
#include <headrace/apps/task/pipelines.h>
#include <headrace/apps/task/records.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A task on pictures or arrays, as far as it needs no LibTorch.
struct PictureTask {
  const TaskConfig& config;
  std::optional<MaskFeed> mask = {};          ///< how masks are read, where pictures have some
  std::function<TaskRecords()> records = {};  ///< listed and divided; empty: by open_records()
};

/// What its pipelines have in common; records are normalised by `statistics`.
TaskFeed task_feed(const PictureTask& task, std::int64_t classes,
                   const ChannelStatistics& statistics);

/// Throws ConfigError for a batch of more rows than an epoch has samples, `samples`; `of` is empty
/// or says of what: " of pair-0-1".
void require_batch(const std::string& of, std::int64_t samples, std::int64_t batch);

/// Throws ConfigError for arrays that are not of the shape `record` that is trained on.
void require_record(const Source& records, const ArraySettings& array, const Shape& record);

/// Throws ConfigError where records that are listed and divided cannot be trained with as
/// configured: a batch of more than there are, a threshold that nothing is left to choose on.
void require_trainable(const TaskConfig& config, const TaskRecords& records);

/// JobConfig::check_data().
void check_picture_data(const PictureTask& task);

/// The training pipeline of the first member, for a bench; pictures are normalised by ImageNet's
/// statistics, at the cost of any.
LoaderJob picture_loader_job(const PictureTask& task);

/// The records of the first member, for `headrace inspect`: training, validation, test.
std::vector<DataPart> picture_data_parts(const PictureTask& task);

}  // namespace headrace::inline v1::app
