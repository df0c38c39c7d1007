#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/task/array_settings.h>
#include <headrace/apps/task/data_set.h>
#include <headrace/apps/task/image_settings.h>
#include <headrace/apps/task/loss_settings.h>
#include <headrace/apps/task/model_settings.h>
#include <headrace/apps/task/predict_settings.h>

#include <span>
#include <string>

namespace headrace::inline v1::app {

enum class Sampler : unsigned char { shuffled, balanced };
enum class LossWeights : unsigned char { none, inverse, effective };

/// What is done about classes of different sizes: the section `imbalance`.
struct ImbalanceSettings {
  Sampler sampler = Sampler::shuffled;
  LossWeights weights = LossWeights::none;
};

/// Its keys.
void describe(Fields& fields, ImbalanceSettings& imbalance);

/// Throws ConfigError where both are set: a rare class would count twice.
void check(const ImbalanceSettings& imbalance);

/// What a configuration of a task says of pictures or arrays, network, loss and figures.
struct TaskSettings {
  TaskData data{};
  ImageSettings image{};
  ArraySettings array{};    ///< in its place where records are arrays
  VolumeSettings volume{};  ///< likewise where they are volumes
  AugmentList augment{};
  ModelSettings model{};
  LossList loss{};
  bool sheets = false;  ///< volumes have one mask, of what is thin: terms of the loss for it
  ImbalanceSettings imbalance{};
  std::string selected_by{};  ///< a figure of the validation
  PredictSettings predict{};
};

/// Adds its keys, but for `data`; `masks`: whether pictures have some.
void describe(Fields& fields, TaskSettings& task, bool masks);

/// Throws ConfigError for keys that contradict each other, and for a `selected_by` that is none of
/// `figures` ("dice_" stands for all that begin so).
void check(const TaskSettings& task, std::span<const std::string> figures);

/// Throws ConfigError where a key names another figure; "dice_" stands for all that begin so.
void check_figure(const std::string& key, const std::string& word,
                  std::span<const std::string> figures);

}  // namespace headrace::inline v1::app
