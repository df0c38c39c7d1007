#pragma once

#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/cache_settings.h>
#include <headrace/apps/feed/loader_config.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/source.h>

#include <memory>

namespace headrace::inline v1::app {

/// What a configuration says of pictures, whatever its kind.
struct PictureFeed {
  ImageConfig image{};
  AugmentList augment{};
  CacheSettings cache{};
  PlantedDelays delay{};
};

/// Samples as they come to a list `augment`, and what is left of it.
struct ListedSamples {
  Pipeline pipeline;
  AugmentContext context{};  ///< what is known here: fields, masks, height, width, device
  AugmentList list{};
};

/// Pictures decoded, with the crop that leads the list and the flip behind it done on the way; a
/// field "mask" goes along. Throws ConfigError.
ListedSamples picture_samples(const PictureFeed& feed, const std::shared_ptr<const Source>& source);

/// Throws ConfigError, ResourceError for a cache that cannot be; for the source's outline, before
/// anything of it is read.
void check_picture_cache(const PictureFeed& feed, const std::shared_ptr<const Source>& outline);

}  // namespace headrace::inline v1::app
