#include <headrace/apps/feed/delay.h>
#include <headrace/apps/feed/plan_table.h>
#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/apps/jobs/glaucoma/sample.h>
#include <headrace/augment/normalize.h>

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

/// What a sample holds once its pictures are made of its maps.
Schema pictures(const Source& records) {
  return GlaucomaSample().schema(records.fields());
}

/// What is normalised: pair mean, the list augment, batches in a fresh order every epoch.
Pipeline augmented(const GlaucomaRecords& records, const GlaucomaConfig& config, Device device,
                   Tail tail) {
  const AugmentSteps steps =
      make_augment_steps(config.augment, {.fields = pictures(*records.source),
                                          .classes = glaucoma_classes,
                                          .seed = config.seed,
                                          .batch = config.training.batch,
                                          .batch_key = "training.batch",
                                          .device = device,
                                          .normalized = true,
                                          .keeps_shapes = true});
  Pipeline pipeline = steps.before_batch(records.samples(GlaucomaSample(), config.delay.decode)
                                             .named("train")
                                             .order(Shuffled{.seed = config.seed})
                                             .seed(config.seed));
  pipeline = slow_augment(std::move(pipeline), config.delay.augment)
                 .batch({.size = config.training.batch, .tail = tail})
                 .to(device);
  return steps.after_batch(std::move(pipeline));
}

}  // namespace

PlannedSource plan_glaucoma_source(const GlaucomaData& data) {
  Hdf5TableOptions options = table_of(data.file, data.resident.value);
  options.stage = data.stage;
  options.fields.push_back({.name = "labels", .dataset = "/labels"});
  check(data.cache);
  PlannedSource planned = plan_table(options);
  with_cache(planned.outline, data.cache, pictures(*planned.outline));
  return planned;
}

PlannedSource plan_glaucoma_source_for_prediction(const std::filesystem::path& file) {
  return plan_table(table_of(file, 0));
}

GlaucomaRecords glaucoma_records(std::shared_ptr<const Source> source,
                                 const GlaucomaConfig& config) {
  const Schema kept = pictures(*source);
  return with_cache(slow_read(std::move(source), config.delay), config.data.cache, kept);
}

Pipeline glaucoma_training_pipeline(const GlaucomaRecords& records, const GlaucomaConfig& config,
                                    Device device) {
  Pipeline pipeline =
      augmented(records, config, device, Tail::drop).then(normalize(config.training.channels_last));
  return slow_transfer(std::move(pipeline), config.delay.transfer);
}

Pipeline glaucoma_evaluation_pipeline(const GlaucomaRecords& records, std::int64_t batch,
                                      bool channels_last, Device device) {
  return records.samples(GlaucomaSample(), {})
      .named("evaluation")
      .order(Sequential{})
      .batch({.size = batch, .tail = Tail::shorter})
      .to(device)
      .then(normalize(channels_last));
}

std::vector<DataPart> glaucoma_data_parts(const GlaucomaConfig& config) {
  const GlaucomaRows rows = read_glaucoma_rows(config.data.file, config.seed);
  const auto outline = plan_glaucoma_source(config.data).outline;
  const auto part = [&](const char* name, const std::vector<std::int64_t>& indices) {
    const GlaucomaRecords records = GlaucomaRecords{.source = outline}.subset(indices);
    return DataPart{.name = name,
                    .records = records.source,
                    .make = GlaucomaSample(),
                    .fields = pictures(*outline),
                    .fed =
                        [config, records](std::vector<std::int64_t> places) {
                          return augmented(records.subset(std::move(places)), config, Device::cpu(),
                                           Tail::shorter)
                              .order(Sequential{});
                        },
                    .normalizes = true};
  };
  return {part("training", rows.train), part("test", rows.test)};
}

LoaderJob make_glaucoma_loader_job(const GlaucomaConfig& config) {
  const Device device = config.device == DeviceChoice::cuda ? Device::cuda(0) : Device::cpu();
  const auto rows =
      std::make_shared<const GlaucomaRows>(read_glaucoma_rows(config.data.file, config.seed));
  PlannedSource planned = plan_glaucoma_source(config.data);
  return {.source = std::move(planned),
          .pipeline =
              [config, device, rows](std::shared_ptr<const Source> records) {
                return glaucoma_training_pipeline(
                    glaucoma_records(std::move(records), config).subset(rows->train), config,
                    device);
              },
          .options = loader_options(config.data.prefetch, config.threads),
          .runtime = runtime_options(config.threads),
          .consumer_delay_s = config.delay.consumer.seconds,
          .cached = config.data.cache.enabled()};
}

}  // namespace headrace::inline v1::app
