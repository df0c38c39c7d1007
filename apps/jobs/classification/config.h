#pragma once

#include <headrace/apps/jobs/job.h>
#include <headrace/apps/task/task_settings.h>

#include <vector>

namespace headrace::inline v1::app {

/// The configuration of the task classification. Its constructor says what the defaults are.
struct ClassificationConfig final : JobConfig {
  ClassificationConfig();

  TaskSettings task;
  bool ordinal = false;  ///< classes are steps of a scale

  void describe_keys(Fields& fields) override;
  /// The list of pictures is not that of arrays, which have none of their own.
  void settle(const Fields& read) override;
  void check() const override;
  int prefetch() const override { return task.data.prefetch; }
  LoaderJob loader_job() const override;
  std::vector<DataPart> data_parts() const override;
};

}  // namespace headrace::inline v1::app
