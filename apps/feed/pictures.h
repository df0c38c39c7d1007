#pragma once

#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/cache_settings.h>
#include <headrace/apps/feed/loader_config.h>
#include <headrace/apps/feed/loader_settings.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/source.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/map_mask.h>
#include <headrace/loaders/image/mask_colours.h>

#include <memory>
#include <optional>
#include <vector>

namespace headrace::inline v1::app {

/// What the files of masks hold.
struct MaskFeed {
  std::vector<MaskColour> colours{};  ///< of masks in colour: what they stand for
  std::optional<MapMask> map{};       ///< what stored values mean, right behind the decoder
  DType dtype = DType::uint8;         ///< of stored values
};

/// What a configuration says of pictures, whatever its kind.
struct PictureFeed {
  ImageConfig image{};
  AugmentList prepare{};  ///< done to every picture alike, before `augment`
  AugmentList augment{};
  CacheSettings cache{};
  DecodeSettings decode{};
  PlantedDelays delay{};
  MaskFeed mask{};
};

/// Samples as they come to a list `augment`, and what is left of it.
struct ListedSamples {
  Pipeline pipeline;
  AugmentContext context{};  ///< what is known here: fields, masks, height, width, device
  AugmentList list{};
};

/// The decoder's options for the masks of a source that has some.
void take_masks(DecodeImage& decode, const MaskFeed& mask, const Source& source);

/// Pictures decoded, with the crop that leads the list and the flip behind it done on the way, and
/// prepared; a field "mask" goes along. Throws ConfigError.
ListedSamples picture_samples(const PictureFeed& feed, const std::shared_ptr<const Source>& source);

/// What the decoder makes of a record of the outline, as a cache keeps it. Throws ConfigError.
Schema decoded_fields(const PictureFeed& feed, const Source& outline);

/// Throws ConfigError, ResourceError for a cache that cannot be; for the source's outline, before
/// anything of it is read.
void check_picture_cache(const PictureFeed& feed, const std::shared_ptr<const Source>& outline);

}  // namespace headrace::inline v1::app
