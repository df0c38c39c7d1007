#include <headrace/apps/feed/augment/operation.h>
#include <headrace/apps/feed/pictures.h>
#include <headrace/augment/flip.h>
#include <headrace/engine/base/error.h>

#include <utility>
#include <variant>

namespace headrace::inline v1::app {
namespace {

/// A flip behind a crop that is drawn costs the decoder nothing; behind another it would keep a
/// cache from what draws nothing.
bool flips_for_free(const DecodeImage& decode) {
  return std::holds_alternative<RandomResizedCrop>(decode.crop) || decode.device.is_cuda();
}

/// The decoder, with the crop that leads the list and the flip behind it, which are taken out of
/// the list.
DecodeImage take_decoder(const PictureFeed& feed, AugmentList& list) {
  const ImageConfig& image = feed.image;
  DecodeImage decode{.device = {.kind = image.decode}, .device_share = image.device_share};
  feed.decode.apply(decode);
  const int side = image.resize > 0 ? image.resize : image.side;
  decode.crop = ResizeTo{.height = side, .width = side};
  if (image.resize == 0 && !list.empty() && list.front().operation->geometry) {
    at_entry(list.front(), [&] {
      const AugmentContext context{.height = image.side, .width = image.side};
      decode.crop = list.front().operation->geometry(list.front().parameters, context);
      check(decode.crop, list.front().operation->name);
    });
    list.erase(list.begin());
  }
  if (list.empty() || !flips_for_free(decode)) return decode;
  const auto* flip = std::any_cast<HorizontalFlip>(&list.front().parameters);
  if (flip == nullptr) return decode;
  decode.flip = static_cast<float>(flip->p);
  list.erase(list.begin());
  return decode;
}

/// Pictures that a device decodes are first seen in its batches: nothing before can touch them.
/// `rest` is what the decoder does not do of the list.
void check_device_decode(const PictureFeed& feed, const AugmentList& rest) {
  if (feed.image.decode != Device::Kind::cuda) return;
  for (const AugmentEntry& entry : rest) {
    if (entry.operation->on != AugmentOn::samples) continue;
    at_entry(entry, [] {
      throw ConfigError(
          "works on pictures in host memory, but with image.decode: cuda the GPU makes them, with "
          "the crop that leads the list (where image.resize is 0) and the flip behind it and "
          "nothing else; leave it out, or set image.decode: cpu");
    });
  }
  if (!feed.prepare.empty()) {
    at_entry(feed.prepare.front(), [] {
      throw ConfigError(
          "works on pictures in host memory, but with image.decode: cuda the GPU makes them; leave "
          "it out, or set image.decode: cpu");
    });
  }
  if (feed.cache.enabled()) {
    throw ConfigError(
        "[config] data.cache: keeps pictures in host memory, but with image.decode: cuda the GPU "
        "makes them; leave it out, or set image.decode: cpu");
  }
  if (feed.delay.decode.seconds > 0.0 || feed.delay.augment.seconds > 0.0) {
    throw ConfigError(
        "[config] delay.decode and delay.augment: are added to pictures in host memory, but with "
        "image.decode: cuda the GPU makes them; leave them out, or set image.decode: cpu");
  }
}

}  // namespace

void take_masks(DecodeImage& decode, const MaskFeed& mask, const Source& source) {
  if (source.fields().find("mask") == nullptr) return;
  decode.masks = {"mask"};
  decode.mask_dtype = mask.dtype;
  decode.mask_colours = mask.colours;
}

ListedSamples picture_samples(const PictureFeed& feed,
                              const std::shared_ptr<const Source>& source) {
  AugmentList list = feed.augment;
  DecodeImage decode = take_decoder(feed, list);
  check_device_decode(feed, list);
  take_masks(decode, feed.mask, *source);
  AugmentContext context{.fields = decode.schema(source->fields()),
                         .masks = decode.masks,
                         .height = feed.image.side,
                         .width = feed.image.side,
                         .device = decode.device};
  const CachedRecords records = with_cache(source, feed.cache, context.fields);
  Pipeline pipeline = records.samples(std::move(decode), feed.delay.decode,
                                      make_prepare(feed.prepare, context.fields, context.masks));
  if (feed.mask.map) {
    context.fields = feed.mask.map->schema(context.fields);
    pipeline = std::move(pipeline).then(*feed.mask.map);
  }
  return {.pipeline = std::move(pipeline), .context = std::move(context), .list = std::move(list)};
}

Schema decoded_fields(const PictureFeed& feed, const Source& outline) {
  AugmentList list = feed.augment;
  DecodeImage decode = take_decoder(feed, list);
  take_masks(decode, feed.mask, outline);
  return decode.schema(outline.fields());
}

void check_picture_cache(const PictureFeed& feed, const std::shared_ptr<const Source>& outline) {
  if (!feed.cache.enabled()) return;
  AugmentList list = feed.augment;
  DecodeImage decode = take_decoder(feed, list);
  check_device_decode(feed, list);
  if (decode.draws()) {
    throw ConfigError(
        "[config] data.cache: keeps what comes before the first random operation, but the first of "
        "all, \"decode\", draws its crop at random; set image.resize (256, say): whole pictures "
        "are then decoded to that size and kept, and the crop is drawn from them");
  }
  take_masks(decode, feed.mask, *outline);
  with_cache(outline, feed.cache, decode.schema(outline->fields()));
}

}  // namespace headrace::inline v1::app
