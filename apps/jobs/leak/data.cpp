#include <headrace/apps/feed/delay.h>
#include <headrace/apps/jobs/leak/data.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/literals.h>
#include <headrace/engine/tensor/huge_pages.h>
#include <headrace/loaders/memory/device_table.h>

#include <string>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {

namespace {

using Table = std::shared_ptr<const DeviceTable>;

/// The table that the segments are, or null.
Table table_of(const std::shared_ptr<const Source>& segments) {
  return std::dynamic_pointer_cast<const DeviceTable>(segments);
}

/// Batches on the device, whose fields come out of the table where there is one.
Pipeline batched(Pipeline pipeline, const Batching& batching, Device device, const Table& table) {
  pipeline = std::move(pipeline).batch(batching).to(device);
  if (!table) return pipeline;
  return std::move(pipeline).then(table->gather_step());
}

AugmentContext context_of(const LeakFile& file, const LeakConfig& config, Device device,
                          const Table& table) {
  return {.fields = leak_fields(file),
          .mean = file.mean,
          .classes = leak_classes,
          .seed = config.seed,
          .batch = config.training.batch,
          .batch_key = "training.batch",
          .device = device,
          .gathers = true,
          .in_table = table != nullptr,
          .keeps_shapes = true};
}

/// Segments are in memory whole or not at all.
void require_room(const LeakFile& file, Bytes allowed, std::uint64_t needed) {
  if (needed <= allowed.value) return;
  const Bytes enough{(needed + 1_MiB - 1) / 1_MiB * 1_MiB};
  throw ResourceError(fmt::format(
      "[leak] {}: all segments must be in memory, {} bytes, but data.resident is {}; set "
      "data.resident to {} or more",
      file.path.string(), needed, format_exact(allowed), format_exact(enough)));
}

}  // namespace

Pipeline leak_training_pipeline(std::shared_ptr<const Source> segments, const LeakFile& file,
                                const LeakConfig& config, Device device) {
  const PlantedDelays& delay = config.delay;
  const Table table = table_of(segments);
  Pipeline pipeline = Pipeline::from(slow_read(std::move(segments), delay))
                          .named("train")
                          .order(Shuffled{.seed = config.seed})
                          .seed(config.seed);
  pipeline = slow_augment(slow_decode(std::move(pipeline), delay.decode), delay.augment);
  const AugmentSteps steps =
      make_augment_steps(config.augment, context_of(file, config, device, table));
  pipeline = batched(steps.before_batch(std::move(pipeline)),
                     {.size = config.training.batch, .tail = Tail::drop}, device, table);
  return slow_transfer(steps.after_batch(std::move(pipeline)), delay.transfer);
}

Pipeline leak_evaluation_pipeline(std::shared_ptr<const Source> segments, std::int64_t batch,
                                  Device device) {
  const Table table = table_of(segments);
  return batched(Pipeline::from(std::move(segments)).named("evaluation").order(Sequential{}),
                 {.size = batch, .tail = Tail::shorter}, device, table);
}

PlannedSource plan_leak_data(const LeakFile& file, const LeakData& data, Device device) {
  const bool in_table = data.residence == LeakResidence::device;
  PlannedSource planned = in_table ? plan_leak_table(file, data.resident.value, data.stage, device)
                                   : plan_leak_segments(file, data.resident.value, data.stage);
  require_room(file, data.resident,
               in_table ? table_of(planned.outline)->bytes()
                        : HugePages::mapped_bytes(planned.resident_bytes));
  return planned;
}

std::vector<DataPart> leak_data_parts(const LeakConfig& config) {
  const LeakFile training = read_leak_file(config.data.training);
  const auto part = [&config](const char* name, const LeakFile& file) {
    return DataPart{.name = name,
                    .records = plan_leak_segments(file, config.data.resident.value).outline,
                    .fields = leak_fields(file),
                    .classes = {"other", std::string(leak_label)}};
  };
  return {part("training", training),
          part("validation", read_leak_file(config.data.validation, &training)),
          part("testing", read_leak_file(config.data.testing, &training))};
}

LoaderJob make_leak_loader_job(const LeakConfig& config) {
  const Device device = config.device == DeviceChoice::cuda ? Device::cuda(0) : Device::cpu();
  const auto file = std::make_shared<const LeakFile>(read_leak_file(config.data.training));
  return {.source = plan_leak_data(*file, config.data, device),
          .pipeline =
              [config, device, file](std::shared_ptr<const Source> segments) {
                return leak_training_pipeline(std::move(segments), *file, config, device);
              },
          .options = loader_options(config.data.prefetch, config.threads),
          .runtime = runtime_options(config.threads),
          .consumer_delay_s = config.delay.consumer.seconds};
}

}  // namespace headrace::inline v1::app
