#pragma once

#include <headrace/apps/feed/data_part.h>
#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/jobs/glaucoma/config.h>
#include <headrace/apps/jobs/glaucoma/rows.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/tensor/device.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace headrace::inline v1::app {

/// The file as a source of records: six maps and `labels`. Throws what with_cache() throws
/// of a cache that cannot be, before any record is read.
PlannedSource plan_glaucoma_source(const GlaucomaData& data);

/// The same, without labels where the file has none, for prediction.
PlannedSource plan_glaucoma_source_for_prediction(const std::filesystem::path& file);

/// Records to make batches of, and the cache of their pair means where the configuration wants one.
using GlaucomaRecords = CachedRecords;

/// The open file with the configured cache and planted delay of reading. Throws what with_cache()
/// throws.
GlaucomaRecords glaucoma_records(std::shared_ptr<const Source> source,
                                 const GlaucomaConfig& config);

/// Pair mean, the list augment, batches in a fresh order every epoch, ImageNet's statistics.
/// Batches: `image` float32 [N, 3, H, W], or [N, H, W, 3] for training.channels_last, and `label`
/// int64 [N].
Pipeline glaucoma_training_pipeline(const GlaucomaRecords& records, const GlaucomaConfig& config,
                                    Device device);

/// The same without augmentation, in order, the last batch shorter.
Pipeline glaucoma_evaluation_pipeline(const GlaucomaRecords& records, std::int64_t batch,
                                      bool channels_last, Device device);

/// Training split and test, for `headrace inspect`.
std::vector<DataPart> glaucoma_data_parts(const GlaucomaConfig& config);

/// The training pipeline over the whole training split, for a bench.
LoaderJob make_glaucoma_loader_job(const GlaucomaConfig& config);

}  // namespace headrace::inline v1::app
