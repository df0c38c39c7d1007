#include <headrace/apps/feed/augment/operation.h>
#include <headrace/apps/feed/delay.h>
#include <headrace/apps/feed/loader_pipeline.h>
#include <headrace/augment/flip.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_source.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace headrace::inline v1::app {
namespace {

std::vector<std::string> masks_of(const Source& source) {
  if (source.fields().find("mask") == nullptr) return {};
  return {"mask"};
}

/// A flip behind a crop that is drawn costs the decoder nothing; behind another it would keep a
/// cache from what draws nothing.
bool flips_for_free(const DecodeImage& decode) {
  return std::holds_alternative<RandomResizedCrop>(decode.crop) || decode.device.is_cuda();
}

/// The decoder, with the crop that leads the list and the flip behind it, which are taken out of
/// the list.
DecodeImage take_decoder(const LoaderConfig& config, AugmentList& list) {
  const ImageConfig& image = config.image;
  DecodeImage decode{.device = {.kind = image.decode}, .device_share = image.device_share};
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
void check_device_decode(const LoaderConfig& config, const AugmentList& rest) {
  if (config.image.decode != Device::Kind::cuda) return;
  for (const AugmentEntry& entry : rest) {
    if (entry.operation->on != AugmentOn::samples) continue;
    at_entry(entry, [] {
      throw ConfigError(
          "works on pictures in host memory, but with image.decode: cuda the GPU makes them, with "
          "the crop that leads the list (where image.resize is 0) and the flip behind it and "
          "nothing else; leave it out, or set image.decode: cpu");
    });
  }
  if (config.data.cache.enabled()) {
    throw ConfigError(
        "[config] data.cache: keeps pictures in host memory, but with image.decode: cuda the GPU "
        "makes them; leave it out, or set image.decode: cpu");
  }
  if (config.delay.decode.seconds > 0.0 || config.delay.augment.seconds > 0.0) {
    throw ConfigError(
        "[config] delay.decode and delay.augment: are added to pictures in host memory, but with "
        "image.decode: cuda the GPU makes them; leave them out, or set image.decode: cpu");
  }
}

/// The samples as they come to the list, and what is left of it.
struct Samples {
  Pipeline pipeline;
  AugmentContext context;
  AugmentList list;
};

Samples pictures(const LoaderConfig& config, const std::shared_ptr<const Source>& source) {
  AugmentList list = config.augment;
  DecodeImage decode = take_decoder(config, list);
  check_device_decode(config, list);
  decode.masks = masks_of(*source);
  AugmentContext context{.fields = decode.schema(source->fields()),
                         .masks = decode.masks,
                         .height = config.image.side,
                         .width = config.image.side,
                         .device = decode.device};
  const CachedRecords records = with_cache(source, config.data.cache, context.fields);
  return {.pipeline = records.samples(std::move(decode), config.delay.decode),
          .context = std::move(context),
          .list = std::move(list)};
}

Samples rows(const LoaderConfig& config, const std::shared_ptr<const Source>& source) {
  return {.pipeline = slow_decode(Pipeline::from(source), config.delay.decode),
          .context = {.fields = source->fields(), .gathers = source->gathers()},
          .list = config.augment};
}

}  // namespace

std::int64_t class_count(const Source& source) {
  const auto* images = dynamic_cast<const ImageSource*>(&source);
  return images == nullptr ? 0 : static_cast<std::int64_t>(images->classes().size());
}

Pipeline make_loader_pipeline(const LoaderConfig& config, std::shared_ptr<const Source> source,
                              std::int64_t classes) {
  source = slow_read(std::move(source), config.delay.read);
  Samples samples = is_images(config.data.source) ? pictures(config, source) : rows(config, source);
  samples.context.classes = classes;
  samples.context.seed = config.seed;
  samples.context.batch = config.batch;
  samples.context.batch_key = "batch";
  const AugmentSteps steps = make_augment_steps(samples.list, samples.context);
  Pipeline pipeline = steps.before_batch(std::move(samples.pipeline));
  pipeline =
      slow_augment(std::move(pipeline), config.delay.augment).named("bench").seed(config.seed);
  pipeline = config.shuffle ? std::move(pipeline).order(Shuffled{.seed = config.seed})
                            : std::move(pipeline).order(Sequential{});
  pipeline = std::move(pipeline).batch(
      {.size = config.batch, .tail = config.drop_last ? Tail::drop : Tail::shorter});
  // What decodes on a device decodes into its memory.
  if (is_images(config.data.source)) pipeline = std::move(pipeline).to(samples.context.device);
  return slow_transfer(steps.after_batch(std::move(pipeline)), config.delay.transfer);
}

void check_loader_cache(const LoaderConfig& config, const std::shared_ptr<const Source>& outline) {
  const CacheSettings& cache = config.data.cache;
  if (!cache.enabled() || !is_images(config.data.source)) return;
  AugmentList list = config.augment;
  DecodeImage decode = take_decoder(config, list);
  check_device_decode(config, list);
  if (decode.draws()) {
    throw ConfigError(
        "[config] data.cache: keeps what comes before the first random operation, but the first of "
        "all, \"decode\", draws its crop at random; set image.resize (256, say): whole pictures "
        "are then decoded to that size and kept, and the crop is drawn from them");
  }
  decode.masks = masks_of(*outline);
  with_cache(outline, cache, decode.schema(outline->fields()));
}

}  // namespace headrace::inline v1::app
