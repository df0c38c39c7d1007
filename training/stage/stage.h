#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/name_pattern.h>
#include <headrace/training/optimizer/optimizer.h>
#include <headrace/training/optimizer/precision.h>
#include <headrace/training/stage/stage_parts.h>
#include <headrace/training/stage/stage_schedule.h>
#include <headrace/training/trainer/early_stopping.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::training {

/// One part of a course, trained with settings of its own: the trainer's whole recipe but for data,
/// network and loss.
struct Stage {
  std::int64_t number = 0;  ///< among the course's, from 0
  std::string name = "train";
  std::int64_t epochs = 1;
  std::int64_t steps_per_epoch = 0;   ///< 0: the data's; else the course cuts or wraps its order
  std::int64_t batch = 32;            ///< rows of a micro-batch
  std::int64_t evaluation_batch = 0;  ///< 0: `batch`
  std::int64_t accumulation = 1;      ///< micro-batches of a step; the last takes what is left
  OptimizerOptions optimizer = {};
  std::vector<GroupRule> groups = {};
  std::vector<std::string> frozen = {};  ///< parameters that are not trained, as GroupRule::pattern
  bool frozen_norms = false;  ///< norms keep their statistics, as those of frozen parts do anyway
  Schedule schedule = ConstantRate{};
  Precision precision = Precision::fp32;
  double clip_norm = 0.0;  ///< largest norm of all gradients; 0: none
  double ema = 0.0;        ///< decay of averaged weights, see `WeightAverage`; 0: none
  std::vector<std::string> checkpointed = {};  ///< blocks whose activations are made again
  StartFrom start = StartFrom::last;  ///< of the stage before; each stage selects its best anew
  /// The optimiser's state of parameters that the stage before trained, too, goes on.
  bool keep_moments = false;
  std::vector<Unfreeze> unfreeze = {};
  std::optional<EarlyStoppingOptions> early_stopping = {};  ///< its goal is the selection's
  NonFinitePolicy non_finite = SkipStep{};
  bool channels_last = false;    ///< memory layout of the network
  bool cudnn_benchmark = false;  ///< cuDNN tries its algorithms for each shape
  bool deterministic = false;    ///< see `DeviceModes`
};

/// Rows at once in an evaluation.
inline std::int64_t evaluation_batch(const Stage& stage) {
  return stage.evaluation_batch > 0 ? stage.evaluation_batch : stage.batch;
}

/// What two runs must agree on to be one: name, numbers, patterns and schedule of a stage, in
/// words. Left out is what may change when a run is resumed: the evaluation's batch, patience,
/// blocks whose activations are made again, what is done about values that are not finite, cuDNN's
/// modes.
HEADRACE_API std::map<std::string, std::string> identity_of(const Stage& stage);

/// Throws `ConfigError` for settings out of range or that contradict each other.
HEADRACE_API void check(const Stage& stage);

using models::fits_pattern;

/// The groups of a stage over a network's parameters at its start. Freezes and unfreezes the
/// parameters (whether they require a gradient) as the stage wants; what it unfreezes later is
/// frozen yet. Throws `ConfigError` for a pattern that fits no parameter, for one to unfreeze that
/// is not frozen, and if none is left to train.
HEADRACE_API std::vector<ParameterGroup> parameter_groups(const Stage& stage,
                                                          const models::NamedTensors& parameters);

/// The groups of the parameters that a change inside the stage adds, and unfreezes here. `since`
/// is the update at which it happens.
HEADRACE_API std::vector<ParameterGroup> unfreeze(const Stage& stage, std::size_t change,
                                                  const models::NamedTensors& parameters,
                                                  std::int64_t since);

}  // namespace headrace::inline v1::training
