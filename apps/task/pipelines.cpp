#include <headrace/apps/feed/delay.h>
#include <headrace/apps/feed/pictures.h>
#include <headrace/apps/task/pipelines.h>
#include <headrace/loaders/image/decode_image.h>

#include <cmath>
#include <string>
#include <utility>

namespace headrace::inline v1::app {
namespace {

DecodeImage evaluation_decoder(const ImageSettings& image, const Source& records) {
  const int side = image.decode.side;
  if (records.fields().find("mask") != nullptr)
    return {.crop = ResizeTo{.height = side, .width = side}, .masks = {"mask"}};
  const int resize = std::max(side, static_cast<int>(std::lround(side / image.crop)));
  return {.crop = ResizedCenterCrop{.resize = resize, .height = side, .width = side}};
}

Pipeline in_order(Pipeline pipeline, const std::vector<std::int64_t>& labels,
                  const TaskFeed& feed) {
  if (feed.task.imbalance.sampler == Sampler::balanced)
    return std::move(pipeline).order(Balanced{.labels = labels, .seed = feed.seed});
  return std::move(pipeline).order(Shuffled{.seed = feed.seed});
}

}  // namespace

Pipeline training_pipeline(std::shared_ptr<const Source> records,
                           const std::vector<std::int64_t>& labels, const TaskFeed& feed,
                           std::int64_t batch, Device device) {
  ListedSamples samples = picture_samples({.image = feed.task.image.decode,
                                           .augment = feed.task.augment,
                                           .cache = feed.task.data.cache,
                                           .delay = feed.delay},
                                          slow_read(std::move(records), feed.delay.read));
  samples.context.classes = feed.classes;
  samples.context.seed = feed.seed;
  samples.context.batch = batch;
  samples.context.batch_key = "training.batch";
  samples.context.device = device;
  samples.context.normalized = true;
  const AugmentSteps steps = make_augment_steps(samples.list, samples.context);
  Pipeline pipeline =
      in_order(steps.before_batch(std::move(samples.pipeline)).named("train"), labels, feed)
          .seed(feed.seed);
  pipeline = slow_augment(std::move(pipeline), feed.delay.augment)
                 .batch({.size = batch, .tail = Tail::drop})
                 .to(device);
  return slow_transfer(steps.after_batch(std::move(pipeline)).then(feed.normalize),
                       feed.delay.transfer);
}

Pipeline evaluation_pipeline(std::shared_ptr<const Source> records, const TaskFeed& feed,
                             std::int64_t batch, Device device) {
  DecodeImage decode = evaluation_decoder(feed.task.image, *records);
  return Pipeline::from(std::move(records))
      .then(std::move(decode))
      .named("evaluation")
      .order(Sequential{})
      .batch({.size = batch, .tail = Tail::shorter})
      .to(device)
      .then(feed.normalize);
}

}  // namespace headrace::inline v1::app
