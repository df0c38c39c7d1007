#pragma once

#include <headrace/apps/jobs/job.h>
#include <headrace/apps/task/task_settings.h>

namespace headrace::inline v1::app {

/// The keys of a task beside `kind`: its own sections among those that all jobs have; `masks`: see
/// describe() of TaskSettings.
void describe_task(Fields& fields, JobConfig& config, TaskSettings& task, bool masks);

}  // namespace headrace::inline v1::app
