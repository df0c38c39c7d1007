#include <headrace/apps/feed/augment.h>
#include <headrace/apps/learn/picture_job.h>
#include <headrace/apps/task/channel_statistics.h>
#include <headrace/engine/sample/subset.h>
#include <headrace/loaders/image/decode_image.h>

#include <utility>

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

}  // namespace

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
