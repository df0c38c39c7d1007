#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/name_pattern.h>
#include <headrace/training/adamw.h>
#include <headrace/training/early_stopping.h>
#include <headrace/training/precision.h>
#include <headrace/training/stage_schedule.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::training {

/// Parameters whose name has `pattern` somewhere ("*" stands for anything) and what is theirs. The
/// first rule that fits counts.
struct GroupRule {
  std::string pattern = {};
  double rate_factor = 1.0;                 ///< of the learning rate
  std::optional<double> weight_decay = {};  ///< none: the optimiser's, by its rule for vectors
};

/// A change inside a stage: from that epoch on, parameters of these patterns are trained.
struct Unfreeze {
  std::int64_t at = 0;
  std::vector<std::string> patterns = {};
};

/// Where a stage's weights come from.
enum class StartFrom : unsigned char { last, best };

/// One part of a course, trained with settings of its own: the trainer's whole recipe but for data,
/// network and loss.
struct Stage {
  std::string name = "train";
  std::int64_t epochs = 1;
  std::int64_t steps_per_epoch = 0;   ///< 0: the data's; else the course cuts or wraps its order
  std::int64_t batch = 32;            ///< rows of a micro-batch
  std::int64_t evaluation_batch = 0;  ///< 0: `batch`
  std::int64_t accumulation = 1;      ///< micro-batches of a step; the last takes what is left
  AdamWOptions optimizer = {};
  std::vector<GroupRule> groups = {};
  std::vector<std::string> frozen = {};  ///< parameters that are not trained, as GroupRule::pattern
  bool frozen_norms = false;             ///< norms keep their statistics
  Schedule schedule = ConstantRate{};
  Precision precision = Precision::fp32;
  double clip_norm = 0.0;                      ///< largest norm of all gradients; 0: none
  double ema = 0.0;                            ///< decay of averaged weights; 0: none
  std::vector<std::string> checkpointed = {};  ///< blocks whose activations are made again
  StartFrom start = StartFrom::last;  ///< of the stage before; each stage selects its best anew
  std::vector<Unfreeze> unfreeze = {};
  std::optional<EarlyStoppingOptions> early_stopping = {};  ///< its goal is the selection's
  bool channels_last = false;                               ///< memory layout of the network
  bool cudnn_benchmark = false;  ///< cuDNN tries its algorithms for each shape
};

/// Rows at once in an evaluation.
inline std::int64_t evaluation_batch(const Stage& stage) {
  return stage.evaluation_batch > 0 ? stage.evaluation_batch : stage.batch;
}

/// What two runs must agree on to be one: name, numbers, patterns and schedule of a stage, in
/// words. Left out is what may change when a run is resumed: the evaluation's batch, patience,
/// cuDNN's search.
HEADRACE_API std::map<std::string, std::string> identity_of(const Stage& stage);

/// Throws `ConfigError` for settings out of range, and for those that the trainer does not know yet
/// (frozen_norms, ema, checkpointed, unfreeze): each by its name.
HEADRACE_API void require_known(const Stage& stage);

using models::fits_pattern;

/// The groups of a stage over a network's parameters. Freezes and unfreezes the parameters (whether
/// they require a gradient) as the stage wants. Throws `ConfigError` for a pattern that fits no
/// parameter, and if none is left to train.
HEADRACE_API std::vector<ParameterGroup> parameter_groups(const Stage& stage,
                                                          const models::NamedTensors& parameters);

}  // namespace headrace::inline v1::training
