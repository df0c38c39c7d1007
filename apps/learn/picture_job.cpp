#include <headrace/apps/feed/augment.h>
#include <headrace/apps/learn/picture_job.h>
#include <headrace/apps/task/array_data.h>
#include <headrace/apps/task/channel_statistics.h>
#include <headrace/apps/task/check_judged.h>
#include <headrace/apps/task/check_masks.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/subset.h>
#include <headrace/loaders/image/decode_image.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// What makes a picture of a file, as the network would see it without a list.
struct Shown {
  DecodeImage decode{};
  std::optional<MapMask> map{};
  PreparePictures prepare{};

  Schema schema(const Schema& in) const {
    const Schema out = decode.schema(in);
    return map ? map->schema(out) : out;
  }
  void operator()(Sample& sample) const {
    Random nothing_drawn;
    decode(sample, nothing_drawn);
    if (map) (*map)(sample);
    prepare(sample);
  }
};

Shown shown(const TaskFeed& feed, const Source& records) {
  const int side = feed.task.image.decode.side;
  Shown one{.decode = {.crop = ResizeTo{.height = side, .width = side}}};
  take_masks(one.decode, feed.mask, records);
  if (!one.decode.masks.empty()) one.map = feed.mask.map;
  one.prepare =
      make_prepare(feed.task.image.prepare, one.decode.schema(records.fields()), one.decode.masks);
  return one;
}

// Without the statistics of the data: masked cells of arrays hold 0 where the configuration says
// nothing.
TaskFeed feed_of(const PictureTask& task, const LabelledSource& records) {
  const bool arrays = holds_arrays(task.config.task.data);
  return task_feed(
      task, static_cast<std::int64_t>(records.classes().size()),
      arrays ? ChannelStatistics{.mean = {0.0F}, .std = {1.0F}} : imagenet_statistics());
}

TaskRecords records_of(const PictureTask& task) {
  if (task.records) return task.records();
  return open_records(task.config.task.data, task.mask.has_value(), task.config.seed);
}

PlannedSource planned(const RecordSet& set, const std::vector<std::int64_t>& rows) {
  const auto subset = [rows](std::shared_ptr<const Source> source) {
    return std::make_shared<const Subset>(std::move(source), rows);
  };
  return {.outline = subset(set.source),
          .resident_bytes = set.resident_bytes,
          .open = [set, subset] { return subset(set.load ? set.load() : set.source); }};
}

bool validates(const TaskRecords& records) {
  return std::ranges::none_of(records.members,
                              [](const SplitParts& member) { return member.validation.empty(); });
}

void require_validation(const TrainingSettings& training) {
  const auto refuse = [](const char* key, const char* way_out) {
    throw ConfigError(fmt::format(
        "[config] training.{} needs a validation, there is none; set data.split.validation, or {}",
        key, way_out));
  };
  if (training.early_stopping > 0) refuse("early_stopping", "early_stopping to 0");
  if (training.stop_at) refuse("stop_at", "stop_at to null");
  if (std::holds_alternative<training::PlateauOptions>(training.schedule))
    refuse("schedule: plateau", "take another schedule");
}

// Of one stage; `who` normalises over the batch, null: nobody.
void require_stage(const TaskConfig& config, const TaskRecords& records, const char* who) {
  const TaskData& data = config.task.data;
  const std::int64_t batch = config.training.batch;
  if (!validates(records)) require_validation(config.training);
  for (const SplitParts& one : records.members)
    require_batch(data.epoch_size > 0 ? " (data.epoch_size)" : "",
                  data.samples_of(std::ssize(one.train)), batch);
  if (who != nullptr && batch < 2)
    throw ConfigError(
        fmt::format("[config] training.batch must be at least 2 {} normalises over the batch, got "
                    "1 in stage {}",
                    who, config.training.name));
}

}  // namespace

void require_batch(const std::string& of, std::int64_t samples, std::int64_t batch) {
  if (batch <= samples) return;
  throw ConfigError(
      fmt::format("[config] training.batch must be at most the number of records to train on{}, "
                  "{}, got {}",
                  of, samples, batch));
}

void require_record(const Source& records, const ArraySettings& array, const Shape& record) {
  if (record_shape(records, array) == record) return;
  throw ConfigError(
      fmt::format("[data] {}: records must be {} as those that are trained on, got {}",
                  records.name(), to_string(record), to_string(records.fields().at(array_field))));
}

void require_trainable(const TaskConfig& config, const TaskRecords& records) {
  const TaskSettings& task = config.task;
  bool vectors = false;
  if (holds_arrays(task.data)) {
    const Shape record = record_shape(*records.train.source, task.array);
    vectors = record.rank() == 1;
    for (const RecordSet* part : {&records.validation, &records.test})
      require_record(*part->source, task.array, record);
  }
  const char* who = vectors                     ? "for vectors, whose network"
                    : task.model.hidden.empty() ? nullptr
                                                : "with model.hidden, whose layers";
  if (std::holds_alternative<FittedThreshold>(task.predict.threshold) && !validates(records))
    throw ConfigError(
        "[config] predict.threshold: fitted is chosen on records of a validation, there are "
        "none; set data.split.validation, or predict.threshold: {at: 0.5}");
  if (config.stages.empty()) require_stage(config, records, who);
  for (const auto& stage : config.stages)
    require_stage(dynamic_cast<const TaskConfig&>(*stage), records, who);
}

void check_picture_data(const PictureTask& task) {
  TaskData data = task.config.task.data;
  const BadSampleSettings& bad = task.config.bad_samples;
  data.listings.clear();
  TaskRecords records = open_records(data, task.mask.has_value(), task.config.seed);
  require_trainable(task.config, records);
  const TaskFeed feed = feed_of(task, *records.train.source);
  if (task.mask) check_masks(records, feed, bad);
  load(records);
  check_judged(records, {.decode = feed.task.data.decode,
                         .must_be_sound = bad.rule == BadSamples::Rule::fail});
}

TaskFeed task_feed(const PictureTask& task, std::int64_t classes,
                   const ChannelStatistics& statistics) {
  const bool arrays = holds_arrays(task.config.task.data);
  TaskSettings settings = task.config.task;
  settings.data.decode =
      with_limit(settings.data.decode, task.config.memory.limit, task.config.threads);
  return {.task = std::move(settings),
          .delay = task.config.delay,
          .seed = task.config.seed,
          .classes = classes,
          .whole = task.mask.has_value(),
          .arrays = arrays,
          .middle = arrays ? middle_of(task.config.task.array, statistics) : std::nullopt,
          .mask = task.mask.value_or(MaskFeed{}),
          .normalize = {.mean = statistics.mean,
                        .std = statistics.std,
                        .layout = task.config.training.channels_last
                                      ? Normalize::Layout::channels_last
                                      : Normalize::Layout::channels_first}};
}

LoaderJob picture_loader_job(const PictureTask& task) {
  const TaskRecords records = records_of(task);
  const std::vector<std::int64_t>& rows = records.members.front().train;
  const TaskFeed feed = feed_of(task, *records.train.source);
  const Device device = task.config.device == DeviceChoice::cuda ? Device::cuda(0) : Device::cpu();
  return {.source = planned(records.train, rows),
          .pipeline =
              [feed, device, labels = labels_at(*records.train.source, rows),
               batch = task.config.training.batch](std::shared_ptr<const Source> source) {
                return training_pipeline(std::move(source), labels, feed, batch, device);
              },
          .options = loader_options(task.config.task.data.prefetch, task.config.threads),
          .runtime = runtime_options(task.config.threads),
          .consumer_delay_s = task.config.delay.consumer.seconds,
          .cached = task.config.task.data.cache.enabled()};
}

std::vector<DataPart> picture_data_parts(const PictureTask& task) {
  const TaskRecords records = records_of(task);
  const SplitParts& member = records.members.front();
  const TaskFeed feed = feed_of(task, *records.train.source);
  std::vector<DataPart> parts;
  const auto add = [&](const char* name, const std::shared_ptr<const LabelledSource>& source,
                       const std::vector<std::int64_t>& rows) {
    if (rows.empty()) return;
    const auto subset = std::make_shared<const Subset>(source, rows);
    if (feed.arrays) {
      parts.push_back({.name = name,
                       .records = subset,
                       .fields = source->fields(),
                       .classes = source->classes()});
      return;
    }
    const Shown make = shown(feed, *source);
    parts.push_back(
        {.name = name,
         .records = subset,
         .make = make,
         .fields = make.schema(source->fields()),
         .classes = source->classes(),
         .fed =
             [feed, subset, batch = task.config.training.batch](std::vector<std::int64_t> places) {
               return augmented_pipeline(std::make_shared<const Subset>(subset, std::move(places)),
                                         feed, {.size = batch, .tail = Tail::shorter},
                                         Device::cpu())
                   .order(Sequential{});
             },
         .normalizes = true});
  };
  add("training", records.train.source, member.train);
  add("validation", records.validation.source, member.validation);
  add("test", records.test.source, member.test);
  return parts;
}

}  // namespace headrace::inline v1::app
