#pragma once

#include <headrace/apps/learn/task_config.h>
#include <headrace/apps/task/mask_settings.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The configuration of the task segmentation. Its constructor says what the defaults are.
struct SegmentationConfig final : TaskConfig {
  SegmentationConfig();

  MaskSettings mask;

  void describe_keys(Fields& fields) override;
  void settle(const Fields& read) override;
  void check() const override;
  std::span<const std::string> plateau_figures() const override;
  LoaderJob loader_job() const override;
  std::vector<DataPart> data_parts() const override;
  void check_data() const override;
  std::optional<MaskFormat> mask_format() const override;

  /// Whether it learns from volumes, not from pictures.
  bool volumes() const { return holds_volumes(task.data); }
};

}  // namespace headrace::inline v1::app
