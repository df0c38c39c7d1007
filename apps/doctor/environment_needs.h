#pragma once

#include <headrace/apps/doctor/environment.h>
#include <headrace/apps/jobs/read_job.h>
#include <headrace/engine/base/export.h>

namespace headrace::inline v1::app {

/// What a training asks of the machine, as far as its configuration says: device, threads, limit of
/// memory, folder of runs, and of its data the first file or folder below `data` that is there.
/// LibTorch's versions are the caller's to fill in.
HEADRACE_API EnvironmentOptions environment_of(const TrainingJob& job);

}  // namespace headrace::inline v1::app
