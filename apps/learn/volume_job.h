#pragma once

#include <headrace/apps/feed/data_part.h>
#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/learn/task_config.h>
#include <headrace/apps/task/volume_pipelines.h>
#include <headrace/apps/task/volume_records.h>

#include <vector>

namespace headrace::inline v1::app {

/// What its pipelines have in common.
VolumeFeed volume_feed(const TaskConfig& config, const VolumeRecords& records);

/// The volumes of a configuration, prepared where they are not. Throws what open_volume_records()
/// throws.
VolumeRecords open_volumes(const TaskConfig& config, const VolumeClasses& expected = {});

/// JobConfig::check_data(): prepares nothing.
void check_volume_data(const TaskConfig& config);

/// The training pipeline of the first member, for a bench.
LoaderJob volume_loader_job(const TaskConfig& config, const VolumeClasses& expected = {});

/// The volumes of the first member for `headrace inspect`, window by window, and what the pipeline
/// makes of them in the same places.
std::vector<DataPart> volume_data_parts(const TaskConfig& config,
                                        const VolumeClasses& expected = {});

}  // namespace headrace::inline v1::app
