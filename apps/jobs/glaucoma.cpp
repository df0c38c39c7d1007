#include <headrace/apps/jobs/glaucoma.h>

#include <headrace/apps/jobs/delay.h>
#include <headrace/apps/jobs/glaucoma_names.h>
#include <headrace/apps/jobs/glaucoma_sample.h>
#include <headrace/apps/run/abort_on_hang.h>
#include <headrace/augment/flip.h>
#include <headrace/augment/normalize.h>
#include <headrace/augment/rotate.h>

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

Pipeline with_training_steps(Pipeline pipeline, const GlaucomaConfig& config) {
  if (config.delay.decode.seconds > 0.0) {
    pipeline = std::move(pipeline).then(DecodeDelay{nanoseconds(config.delay.decode)});
  }
  pipeline = std::move(pipeline).then(GlaucomaSample());
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

GlaucomaRows read_glaucoma_rows(const std::filesystem::path& file) {
  const Hdf5Table table({.file = file,
                         .fields = {{.name = "labels", .dataset = "/labels"},
                                    {.name = "split", .dataset = "/split"}}});
  GlaucomaRows rows;
  Sample sample;
  for (std::int64_t i = 0; i < table.size(); ++i) {
    sample.reset();
    table.read(i, sample);
    if (sample["split"].item<std::uint8_t>() != 0) {
      rows.test.push_back(i);
    } else {
      rows.train.push_back(i);
      rows.train_labels.push_back(class_of(sample["labels"]));
    }
  }
  return rows;
}

Pipeline glaucoma_training_pipeline(std::shared_ptr<const Source> records,
                                    const GlaucomaConfig& config, Device device) {
  if (config.delay.read.seconds > 0.0) {
    records = with_read_delay(std::move(records), nanoseconds(config.delay.read));
  }
  Pipeline pipeline = with_training_steps(Pipeline::from(std::move(records))
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

Pipeline glaucoma_evaluation_pipeline(std::shared_ptr<const Source> records, std::int64_t batch,
                                      bool channels_last, Device device) {
  return Pipeline::from(std::move(records))
      .named("evaluation")
      .order(Sequential{})
      .then(GlaucomaSample())
      .batch({.size = batch, .tail = Tail::shorter})
      .to(device)
      .then(normalize(channels_last));
}

LoaderJob make_glaucoma_loader_job(const GlaucomaConfig& config) {
  const Device device = config.device == DeviceChoice::cuda ? Device::cuda(0) : Device::cpu();
  const auto rows = std::make_shared<const GlaucomaRows>(read_glaucoma_rows(config.data.file));
  return {.source = plan_glaucoma_source(config.data),
          .pipeline =
              [config, device, rows](std::shared_ptr<const Source> records) {
                return glaucoma_training_pipeline(
                    std::make_shared<const Subset>(std::move(records), rows->train), config,
                    device);
              },
          .options = {.prefetch = config.data.prefetch,
                      .watchdog = abort_on_hang(config.threads.watchdog)},
          .runtime = {.threads = config.threads.loader, .io_threads = config.threads.io},
          .consumer_delay_s = config.delay.consumer.seconds};
}

}  // namespace headrace::inline v1::app
