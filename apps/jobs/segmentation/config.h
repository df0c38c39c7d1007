#pragma once

#include <headrace/apps/jobs/job.h>
#include <headrace/apps/task/mask_settings.h>
#include <headrace/apps/task/task_settings.h>

#include <optional>
#include <vector>

namespace headrace::inline v1::app {

/// The configuration of the task segmentation. Its constructor says what the defaults are.
struct SegmentationConfig final : JobConfig {
  SegmentationConfig();

  TaskSettings task;
  MaskSettings mask;

  void describe_keys(Fields& fields) override;
  void check() const override;
  int prefetch() const override { return task.data.prefetch; }
  LoaderJob loader_job() const override;
  std::vector<DataPart> data_parts() const override;
  std::optional<MaskFormat> mask_format() const override { return app::mask_format(mask); }
};

}  // namespace headrace::inline v1::app
