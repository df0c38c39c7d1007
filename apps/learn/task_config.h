#pragma once

#include <headrace/apps/job/job.h>
#include <headrace/apps/task/task_settings.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The configuration of a task on pictures or arrays.
struct TaskConfig : JobConfig {
  TaskSettings task;

  int prefetch() const override { return task.data.prefetch; }
  std::vector<std::string> frozen() const override { return task.model.frozen; }

 protected:
  TaskConfig() = default;
};

/// The keys of a task beside `kind`: its own sections among those that all jobs have; `masks`: see
/// describe() of TaskSettings.
void describe_task(Fields& fields, JobConfig& config, TaskSettings& task, bool masks);

}  // namespace headrace::inline v1::app
