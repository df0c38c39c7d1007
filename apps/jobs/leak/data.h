#pragma once

#include <headrace/apps/feed/data_part.h>
#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/jobs/leak/config.h>
#include <headrace/apps/jobs/leak/segments.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/tensor/device.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace headrace::inline v1::app {

/// Plans a file's segments where the configuration wants them. Throws ResourceError with what they
/// need where data.resident is less.
PlannedSource plan_leak_data(const LeakFile& file, const LeakData& data, Device device);

/// The list augment, masks filled with the training set's mean; batches in a fresh order every
/// epoch. Batches: `mel` float16 [N, mels, frames] in decibels and `label` int64 [N]. `segments`
/// may be a DeviceTable.
Pipeline leak_training_pipeline(std::shared_ptr<const Source> segments, const LeakFile& file,
                                const LeakConfig& config, Device device);

/// The same without masks, in order, the last batch shorter.
Pipeline leak_evaluation_pipeline(std::shared_ptr<const Source> segments, std::int64_t batch,
                                  Device device);

/// The segments of the three files, for `headrace inspect`.
std::vector<DataPart> leak_data_parts(const LeakConfig& config);

/// The training pipeline, for a bench.
LoaderJob make_leak_loader_job(const LeakConfig& config);

}  // namespace headrace::inline v1::app
