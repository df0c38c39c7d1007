#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/task/image_settings.h>

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace headrace::inline v1::app {

/// Arrays as they are.
struct NotNormalised {};
/// A value for each feature or channel, or one for all.
struct NormaliseArraysBy {
  std::vector<float> mean{0.0F};
  std::vector<float> std{1.0F};
};
using ArrayNormalise = std::variant<NormaliseAsData, NotNormalised, NormaliseArraysBy>;

/// The section `array` of a task, what arrays become, in the place of `image`.
struct ArraySettings {
  ArrayNormalise normalise{};
  std::optional<std::int64_t> frames{};  ///< of spectrograms; none: all have as many
  std::optional<double> fill{};          ///< of padded frames; none: the mean
};

/// Its keys.
void describe(Fields& fields, ArraySettings& array);

}  // namespace headrace::inline v1::app
