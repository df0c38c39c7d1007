#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/task/volume_settings.h>

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace headrace::inline v1::app {

/// The largest score decides; of labels that do not exclude each other, and of masks of one class,
/// whatever is above one half.
struct PlainThreshold {};
/// What the validation has found best.
struct FittedThreshold {};
/// This one.
struct GivenThreshold {
  double value = 0.5;
};
using Threshold = std::variant<PlainThreshold, FittedThreshold, GivenThreshold>;

/// The section `predict` of a task.
struct PredictSettings {
  Threshold threshold{};
  std::vector<std::string> tta{};  ///< flip, vertical_flip: scores are the mean over these, too
  VolumePredictSettings volume{};
};

/// Its keys; `of_volumes`: whether records are volumes, asked once all is read; empty: never.
void describe(Fields& fields, PredictSettings& predict, const std::function<bool()>& of_volumes);

/// Axes of [N, C, H, W] that inputs are flipped along. Throws ConfigError for a word that is none
/// of them.
std::vector<std::int64_t> flipped_axes(const PredictSettings& predict);

}  // namespace headrace::inline v1::app
