#include <headrace/apps/feed/delay.h>
#include <headrace/apps/feed/loader_pipeline.h>
#include <headrace/apps/feed/pictures.h>
#include <headrace/loaders/image/image_source.h>

#include <utility>

namespace headrace::inline v1::app {
namespace {

PictureFeed picture_feed(const LoaderConfig& config) {
  return {.image = config.image,
          .augment = config.augment,
          .cache = config.data.cache,
          .decode = with_limit(config.data.decode, config.memory, config.threads),
          .delay = config.delay};
}

ListedSamples rows(const LoaderConfig& config, const std::shared_ptr<const Source>& source) {
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
  source = slow_read(std::move(source), config.delay);
  ListedSamples samples = is_images(config.data.source)
                              ? picture_samples(picture_feed(config), source)
                              : rows(config, source);
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

Schema decoded_fields(const LoaderConfig& config, const Source& outline) {
  return decoded_fields(picture_feed(config), outline);
}

void check_loader_cache(const LoaderConfig& config, const std::shared_ptr<const Source>& outline) {
  if (is_images(config.data.source)) check_picture_cache(picture_feed(config), outline);
}

}  // namespace headrace::inline v1::app
