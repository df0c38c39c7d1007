#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/loader_config.h>

#include <variant>
#include <vector>

namespace headrace::inline v1::app {

/// The statistics that the network's usual weights were trained with.
struct NormaliseAsWeights {};
/// ImageNet's.
struct NormaliseAsImageNet {};
/// Those of the training pictures, of at most 1000 of them.
struct NormaliseAsData {};
/// A value a channel, or one for all, of values in [0, 1].
struct NormaliseBy {
  std::vector<float> mean{0.5F};
  std::vector<float> std{0.5F};
};
using Normalise =
    std::variant<NormaliseAsWeights, NormaliseAsImageNet, NormaliseAsData, NormaliseBy>;

/// The section `image` of a task.
struct ImageSettings {
  ImageConfig decode{};   ///< its `side` is the key `size`
  AugmentList prepare{};  ///< done to every picture alike (`feed/prepare_pictures.h`)
  Normalise normalise{};
  double crop = 0.875;  ///< of the shorter side, what an evaluation looks at
};

/// Its keys; `crops`: whether an evaluation looks at the middle alone.
void describe(Fields& fields, ImageSettings& image, bool crops);

/// Throws ConfigError for a `prepare` that does not suit pictures of these sizes.
void check(const ImageSettings& image);

}  // namespace headrace::inline v1::app
