#pragma once

#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/train/pace_trial.h>

namespace headrace::inline v1::app {

/// Runs a loader without a model behind a consumer that keeps each batch for the job's planted
/// delay; memory and storage only. Opens the source. Throws what the loader throws.
PaceResult pace_of_loader(const LoaderJob& job, const PaceOptions& options);

}  // namespace headrace::inline v1::app
