#include <headrace/apps/jobs/leak.h>

#include <headrace/apps/jobs/delay.h>
#include <headrace/apps/run/abort_on_hang.h>

#include <utility>

namespace headrace::inline v1::app {

SpecAugment leak_masks(const LeakMasks& masks, const LeakFile& file) {
  SpecAugment augment = SpecAugment::few_frames(file.mels);
  augment.frequency_masks = masks.frequency_masks;
  augment.frequency_width = masks.frequency_width;
  augment.time_masks = masks.time_masks;
  augment.time_share = masks.time_share;
  augment.fill = {static_cast<float>(file.mean)};
  augment.field = "mel";
  return augment;
}

namespace {

/// In host memory a whole batch is masked after it was gathered; for a device the draws travel with
/// the batch.
Pipeline with_masks(Pipeline pipeline, const LeakFile& file, const LeakConfig& config,
                    Device device) {
  const Batching batching{.size = config.training.batch, .tail = Tail::drop};
  if (!config.data.masks.enabled) return std::move(pipeline).batch(batching).to(device);
  const SpecAugment masks = leak_masks(config.data.masks, file);
  if (device.is_cuda()) {
    return std::move(pipeline)
        .then(DrawSpecAugment{masks})
        .batch(batching)
        .to(device)
        .then(ApplySpecAugment{masks});
  }
  return std::move(pipeline).batch(batching).to(device).then(
      SpecAugmentBatch{.augment = masks, .seed = config.seed});
}

}  // namespace

Pipeline leak_training_pipeline(std::shared_ptr<const Source> segments, const LeakFile& file,
                                const LeakConfig& config, Device device) {
  const PlantedDelays& delay = config.delay;
  if (delay.read.seconds > 0.0) {
    segments = with_read_delay(std::move(segments), nanoseconds(delay.read));
  }
  Pipeline pipeline = Pipeline::from(std::move(segments))
                          .named("train")
                          .order(Shuffled{.seed = config.seed})
                          .seed(config.seed);
  if (delay.decode.seconds > 0.0) {
    pipeline = std::move(pipeline).then(DecodeDelay{nanoseconds(delay.decode)});
  }
  if (delay.augment.seconds > 0.0) {
    pipeline = std::move(pipeline).then(AugmentDelay{nanoseconds(delay.augment)});
  }
  pipeline = with_masks(std::move(pipeline), file, config, device);
  if (delay.transfer.seconds > 0.0) {
    pipeline = std::move(pipeline).then(TransferDelay{nanoseconds(delay.transfer)});
  }
  return pipeline;
}

Pipeline leak_evaluation_pipeline(std::shared_ptr<const Source> segments, std::int64_t batch,
                                  Device device) {
  return Pipeline::from(std::move(segments))
      .named("evaluation")
      .order(Sequential{})
      .batch({.size = batch, .tail = Tail::shorter})
      .to(device);
}

LoaderJob make_leak_loader_job(const LeakConfig& config) {
  const Device device = config.device == DeviceChoice::cuda ? Device::cuda(0) : Device::cpu();
  const auto file = std::make_shared<const LeakFile>(read_leak_file(config.data.training));
  return {.source = plan_leak_segments(*file, config.data.resident.value, config.data.stage),
          .pipeline =
              [config, device, file](std::shared_ptr<const Source> segments) {
                return leak_training_pipeline(std::move(segments), *file, config, device);
              },
          .options = {.prefetch = config.data.prefetch,
                      .watchdog = abort_on_hang(config.threads.watchdog)},
          .runtime = {.threads = config.threads.loader, .io_threads = config.threads.io},
          .consumer_delay_s = config.delay.consumer.seconds};
}

}  // namespace headrace::inline v1::app
