#pragma once

#include <headrace/apps/jobs/surface/surface_settings.h>
#include <headrace/apps/learn/task_config.h>
#include <headrace/apps/task/volume_records.h>

#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// On which outputs all terms of the loss are.
enum class CompositeOutputs : unsigned char {
  full_scale,   ///< at full size; at the others cross entropy and Dice alone
  every_scale,  ///< the original job's: all of them at every one
};

/// The configuration of the job surface. Its constructor says what this job's defaults are.
struct SurfaceConfig final : TaskConfig {
  SurfaceConfig();

  CompositeOutputs composite = CompositeOutputs::full_scale;
  DecisionSettings decision;
  ScoreSettings score;

  void describe_keys(Fields& fields) override;
  /// Where `loss` is not given it is the composite, without the outputs of deep supervision that
  /// the network has not.
  void settle(const Fields& read) override;
  void check() const override;
  std::span<const std::string> plateau_figures() const override;
  LoaderJob loader_job() const override;
  std::vector<DataPart> data_parts() const override;
};

/// Background, surface, and 2 for what nobody has labelled.
VolumeClasses surface_classes();

/// The composite loss of the job: each term at full size, and of those that judge the deep outputs,
/// too, half as much in all for each of so many of them.
LossList composite_loss(CompositeOutputs composite, bool deep);

}  // namespace headrace::inline v1::app
