#include <headrace/apps/jobs/glaucoma/data.h>

#include <headrace/apps/feed/delay.h>
#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/apps/jobs/glaucoma/sample.h>
#include <headrace/apps/run/abort_on_hang.h>
#include <headrace/augment/flip.h>
#include <headrace/augment/normalize.h>
#include <headrace/augment/rotate.h>
#include <headrace/engine/sample/subset.h>

#include <utility>

namespace headrace::inline v1::app {
namespace {

Hdf5TableOptions table_of(const std::filesystem::path& file, std::size_t memory) {
  Hdf5TableOptions options{.file = file, .memory = memory};
  for (const std::string_view name : glaucoma_map_names) {
    options.fields.push_back(
        {.name = std::string(name), .dataset = "/features/" + std::string(name)});
  }
  return options;
}

Normalize normalize(bool channels_last) {
  return Normalize::imagenet(DType::float32, channels_last ? Normalize::Layout::channels_last
                                                           : Normalize::Layout::channels_first);
}

/// Records as pictures. A planted delay is part of what a cache saves.
Pipeline with_pictures(const GlaucomaRecords& records, Duration delay) {
  Pipeline pipeline = Pipeline::from(records.source);
  const DecodeDelay decode_delay{nanoseconds(delay)};
  if (records.cache)
    return std::move(pipeline).then(records.cache->keep(GlaucomaSample(), decode_delay));
  pipeline = std::move(pipeline).then(GlaucomaSample());
  return delay.seconds > 0.0 ? std::move(pipeline).then(decode_delay) : pipeline;
}

Pipeline with_augmentation(Pipeline pipeline, const GlaucomaConfig& config) {
  if (config.data.flip > 0.0) {
    pipeline = std::move(pipeline).then(HorizontalFlip{.p = config.data.flip});
  }
  if (config.data.rotation > 0.0) {
    pipeline = std::move(pipeline).then(
        Rotate{.degrees = config.data.rotation, .interpolation = Rotate::Interpolation::bilinear});
  }
  if (config.delay.augment.seconds > 0.0) {
    pipeline = std::move(pipeline).then(AugmentDelay{nanoseconds(config.delay.augment)});
  }
  return pipeline;
}

}  // namespace

PlannedSource plan_glaucoma_source(const GlaucomaData& data) {
  Hdf5TableOptions options = table_of(data.file, data.resident.value);
  options.stage = data.stage;
  options.fields.push_back({.name = "labels", .dataset = "/labels"});
  return plan_table(options);
}

PlannedSource plan_glaucoma_source_for_prediction(const std::filesystem::path& file) {
  return plan_table(table_of(file, 0));
}

GlaucomaRecords GlaucomaRecords::subset(std::vector<std::int64_t> indices) const {
  return {.source = std::make_shared<const Subset>(source, std::move(indices)), .cache = cache};
}

GlaucomaRecords glaucoma_records(std::shared_ptr<const Source> source,
                                 const GlaucomaConfig& config) {
  if (config.delay.read.seconds > 0.0) {
    source = with_read_delay(std::move(source), nanoseconds(config.delay.read));
  }
  if (!config.data.cache.enabled()) return {.source = std::move(source)};
  auto cache = open_cache(config.data.cache, source, GlaucomaSample().schema(source->fields()));
  return {.source = cache->source(), .cache = cache};
}

Pipeline glaucoma_training_pipeline(const GlaucomaRecords& records, const GlaucomaConfig& config,
                                    Device device) {
  Pipeline pipeline = with_augmentation(with_pictures(records, config.delay.decode)
                                            .named("train")
                                            .order(Shuffled{.seed = config.seed})
                                            .seed(config.seed),
                                        config)
                          .batch({.size = config.training.batch, .tail = Tail::drop})
                          .to(device)
                          .then(normalize(config.training.channels_last));
  if (config.delay.transfer.seconds > 0.0) {
    pipeline = std::move(pipeline).then(TransferDelay{nanoseconds(config.delay.transfer)});
  }
  return pipeline;
}

Pipeline glaucoma_evaluation_pipeline(const GlaucomaRecords& records, std::int64_t batch,
                                      bool channels_last, Device device) {
  return with_pictures(records, {})
      .named("evaluation")
      .order(Sequential{})
      .batch({.size = batch, .tail = Tail::shorter})
      .to(device)
      .then(normalize(channels_last));
}

LoaderJob make_glaucoma_loader_job(const GlaucomaConfig& config) {
  check(config.data.cache, "data.cache");
  const Device device = config.device == DeviceChoice::cuda ? Device::cuda(0) : Device::cpu();
  const auto rows =
      std::make_shared<const GlaucomaRows>(read_glaucoma_rows(config.data.file, config.seed));
  return {.source = plan_glaucoma_source(config.data),
          .pipeline =
              [config, device, rows](std::shared_ptr<const Source> records) {
                return glaucoma_training_pipeline(
                    glaucoma_records(std::move(records), config).subset(rows->train), config,
                    device);
              },
          .options = {.prefetch = config.data.prefetch,
                      .watchdog = abort_on_hang(config.threads.watchdog)},
          .runtime = {.threads = config.threads.loader, .io_threads = config.threads.io},
          .consumer_delay_s = config.delay.consumer.seconds,
          .cached = config.data.cache.enabled()};
}

}  // namespace headrace::inline v1::app
