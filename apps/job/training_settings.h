#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/engine/base/export.h>
#include <headrace/training/optimizer/optimizer_rule.h>
#include <headrace/training/optimizer/precision.h>
#include <headrace/training/stage/stage_parts.h>
#include <headrace/training/stage/stage_schedule.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The kinds of tagged entries in the section `training`, with their parameters.
std::vector<Tag<training::OptimizerRule>> optimizer_tags();
std::vector<Tag<training::Schedule>> schedule_tags();
std::vector<Tag<training::NonFinitePolicy>> non_finite_tags();

/// How a model is trained: the section `training`, the same for all kinds; a job gives it other
/// defaults.
struct TrainingSettings {
  bool in_stage = false;       ///< one of a list: `name` and `start` are keys, `stages` is none
  std::string name = "train";  ///< of the stage
  training::StartFrom start = training::StartFrom::last;
  bool keep_moments = false;  ///< of the stage before
  std::int64_t epochs = 10;
  std::int64_t batch = 32;
  std::int64_t evaluation_batch = 128;
  std::int64_t accumulation = 1;
  double learning_rate = 1e-3;
  double weight_decay = 0.01;
  bool decay_vectors = false;
  training::OptimizerRule optimizer = training::AdamWRule{};
  std::vector<training::GroupRule> groups{};
  training::Schedule schedule = training::CosineRate{};
  double clip = 0.0;  ///< largest norm of all gradients; 0: none
  training::Precision precision = training::Precision::fp32;
  double ema = 0.0;           ///< decay of averaged weights; 0: none
  bool frozen_norms = false;  ///< norms keep their statistics
  std::vector<training::Unfreeze> unfreeze{};
  std::vector<std::string> checkpointed{};  ///< blocks whose activations are made again
  int early_stopping = 10;                  ///< epochs without a better figure; 0: never
  double min_delta = 0.0;                   ///< that patience wants a better figure to be better by
  std::optional<double> stop_at{};          ///< a figure of the validation that is good enough
  training::NonFinitePolicy non_finite = training::SkipStep{};
  std::int64_t checkpoint_every = 0;  ///< steps; 0: only after an epoch and when stopped
  bool channels_last = true;
  bool cudnn_benchmark = false;
  bool deterministic = false;
  std::optional<std::int64_t> member{};  ///< only this one of the recipe; none: all, in turn
  std::vector<Node> stages{};            ///< see stage_documents()
};

/// Its keys.
HEADRACE_API void describe(Fields& fields, TrainingSettings& training);

/// Throws ConfigError for keys that do not fit each other.
HEADRACE_API void check(const TrainingSettings& training);

/// Throws ConfigError for a plateau over another figure than `figures` (`check_figure`), or whose
/// goal is the wrong way: the loss and its terms get better downwards, all others upwards. Where no
/// figures are known only the loss is looked at.
HEADRACE_API void check_plateau(const TrainingSettings& training,
                                std::span<const std::string> figures);

}  // namespace headrace::inline v1::app
