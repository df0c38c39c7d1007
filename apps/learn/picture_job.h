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

/// The training pipeline of the first member, for a bench; pictures are normalised by ImageNet's
/// statistics, at the cost of any.
LoaderJob picture_loader_job(const PictureTask& task);

/// The records of the first member, for `headrace inspect`: training, validation, test.
std::vector<DataPart> picture_data_parts(const PictureTask& task);

}  // namespace headrace::inline v1::app
