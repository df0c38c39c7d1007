#pragma once

#include <headrace/apps/learn/task_config.h>

#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The configuration of the task classification. Its constructor says what the defaults are.
struct ClassificationConfig final : TaskConfig {
  ClassificationConfig();

  bool ordinal = false;  ///< classes are steps of a scale

  void describe_keys(Fields& fields) override;
  /// The list of pictures is not that of arrays, which have none of their own.
  void settle(const Fields& read) override;
  void check() const override;
  std::span<const std::string> plateau_figures() const override;
  LoaderJob loader_job() const override;
  std::vector<DataPart> data_parts() const override;
  void check_data() const override;
};

}  // namespace headrace::inline v1::app
