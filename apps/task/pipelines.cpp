#include <headrace/apps/feed/delay.h>
#include <headrace/apps/feed/finite_records.h>
#include <headrace/apps/feed/pictures.h>
#include <headrace/apps/task/array_data.h>
#include <headrace/apps/task/pipelines.h>
#include <headrace/augment/spectrogram/frame_window.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/source.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_decoder.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {

Schema PictureSize::schema(const Schema& in) const {
  Schema out = in;
  out.put(FieldSpec::fixed(field, DType::int64, Shape{2}));
  return out;
}

void PictureSize::operator()(Sample& sample) const {
  const ImageHeader header = ImageDecoder::this_thread().open(sample["image"].as_bytes());
  auto* size = sample.make(field, DType::int64, Shape{2}).data<std::int64_t>();
  size[0] = header.shown_height();
  size[1] = header.shown_width();
}

namespace {

struct WithoutLastChannel {
  std::string name() const { return "without last channel"; }
  Schema schema(const Schema& in) const {
    Schema out = in;
    FieldSpec field = in.at(array_field);
    field.shape = without_last_channel(field.shape);
    out.put(field);
    return out;
  }
  void operator()(Sample& sample) const {
    const Tensor array = sample[array_field];
    sample.set(array_field, array.reshaped(without_last_channel(array.shape())));
  }
};

// Arrays as they come to the list `augment`: as they are, spectrograms with as many frames as
// array.frames says, in training (`random`) a window anywhere, else in the middle. Without frames
// to be changed whole batches are gathered where the source does.
ListedSamples array_samples(const TaskFeed& feed, std::shared_ptr<const Source> arrays,
                            bool random) {
  arrays = finite_records(std::move(arrays));
  const ArraySettings& array = feed.task.array;
  AugmentContext context{.fields = arrays->fields(),
                         .mixes = array_field,
                         .mean = feed.middle,
                         .gathers = arrays->gathers(),
                         .keeps_shapes = true};
  Pipeline pipeline = slow_decode(Pipeline::from(arrays), feed.delay.decode);
  const Shape& stored = context.fields.at(array_field).shape;
  if (without_last_channel(stored) != stored) {
    context.fields = WithoutLastChannel().schema(context.fields);
    context.gathers = false;
    pipeline = std::move(pipeline).then(WithoutLastChannel());
  }
  const FieldSpec field = context.fields.at(array_field);
  const bool changes = array.frames && (field.kind != FieldSpec::Kind::fixed ||
                                        field.shape[field.shape.rank() - 1] != *array.frames);
  if (changes) {
    const FrameWindow window{.frames = *array.frames,
                             .random = random,
                             .fill = feed.middle.value_or(0.0),
                             .field = array_field};
    context.fields = window.schema(context.fields);
    context.gathers = false;
    pipeline = std::move(pipeline).then(window);
  }
  return {
      .pipeline = std::move(pipeline), .context = std::move(context), .list = feed.task.augment};
}

DecodeImage evaluation_decoder(const ImageSettings& image, bool whole) {
  const int side = image.decode.side;
  if (whole) return {.crop = ResizeTo{.height = side, .width = side}};
  const int resize = std::max(side, static_cast<int>(std::lround(side / image.crop)));
  return {.crop = ResizedCenterCrop{.resize = resize, .height = side, .width = side}};
}

// The network learns on pictures of the size that it is judged on.
void require_size(const Schema& fields, int side) {
  const Shape wanted{side, side, 3};
  const FieldSpec& image = fields.at("image", "augment");
  if (image.kind == FieldSpec::Kind::fixed && image.shape == wanted) return;
  throw ConfigError(fmt::format(
      "[config] augment: must leave pictures of image.size, {}, got {}; give its crops no size of "
      "their own, or set image.size",
      to_string(wanted), to_string(image)));
}

ListedSamples listed_samples(const TaskFeed& feed, const std::shared_ptr<const Source>& records) {
  if (feed.arrays) return array_samples(feed, records, true);
  return picture_samples({.image = feed.task.image.decode,
                          .prepare = feed.task.image.prepare,
                          .augment = feed.task.augment,
                          .cache = feed.task.data.cache,
                          .decode = feed.task.data.decode,
                          .delay = feed.delay,
                          .mask = feed.mask},
                         records);
}

}  // namespace

Pipeline augmented_pipeline(std::shared_ptr<const Source> records, const TaskFeed& feed,
                            const Batching& batching, Device device) {
  ListedSamples samples = listed_samples(feed, slow_read(std::move(records), feed.delay));
  samples.context.classes = feed.classes;
  samples.context.seed = feed.seed;
  samples.context.batch = batching.size;
  samples.context.batch_key = "training.batch";
  samples.context.device = device;
  samples.context.normalized = true;
  const AugmentSteps steps = make_augment_steps(samples.list, samples.context);
  if (!feed.arrays) require_size(steps.fields, feed.task.image.decode.side);
  Pipeline pipeline =
      steps.before_batch(std::move(samples.pipeline)).named("train").seed(feed.seed);
  pipeline = slow_augment(std::move(pipeline), feed.delay.augment).batch(batching).to(device);
  return steps.after_batch(std::move(pipeline));
}

Pipeline training_pipeline(std::shared_ptr<const Source> records,
                           const std::vector<std::int64_t>& labels, const TaskFeed& feed,
                           std::int64_t batch, Device device) {
  Pipeline pipeline =
      augmented_pipeline(std::move(records), feed, {.size = batch, .tail = Tail::drop}, device);
  if (!feed.arrays) pipeline = std::move(pipeline).then(feed.normalize);
  pipeline = slow_transfer(std::move(pipeline), feed.delay.transfer);
  if (feed.task.imbalance.sampler == Sampler::balanced)
    return std::move(pipeline).order(
        Balanced{.labels = labels, .seed = feed.seed, .epoch_size = feed.task.data.epoch_size});
  return std::move(pipeline).order(
      Shuffled{.seed = feed.seed, .epoch_size = feed.task.data.epoch_size});
}

Pipeline evaluation_pipeline(std::shared_ptr<const Source> records, const TaskFeed& feed,
                             std::int64_t batch, Device device) {
  const auto in_batches = [&](Pipeline pipeline) {
    return std::move(pipeline)
        .named("evaluation")
        .order(Sequential{})
        .batch({.size = batch, .tail = Tail::shorter})
        .to(device);
  };
  if (feed.arrays) return in_batches(array_samples(feed, records, false).pipeline);
  DecodeImage decode = evaluation_decoder(feed.task.image, feed.whole);
  feed.task.data.decode.apply(decode);
  decode.check_first_epoch = false;
  take_masks(decode, feed.mask, *records);
  const bool mapped = !decode.masks.empty() && feed.mask.map.has_value();
  const PreparePictures prepare =
      make_prepare(feed.task.image.prepare, decode.schema(records->fields()), decode.masks);
  Pipeline pipeline = Pipeline::from(std::move(records));
  if (feed.whole) pipeline = std::move(pipeline).then(PictureSize{});
  pipeline = std::move(pipeline).then(std::move(decode));
  if (mapped) pipeline = std::move(pipeline).then(*feed.mask.map);
  if (!prepare.empty()) pipeline = std::move(pipeline).then(prepare);
  return in_batches(std::move(pipeline)).then(feed.normalize);
}

}  // namespace headrace::inline v1::app
