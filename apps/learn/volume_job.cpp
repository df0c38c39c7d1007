#include <headrace/apps/learn/volume_job.h>
#include <headrace/apps/task/volume_pipelines.h>
#include <headrace/apps/task/volume_records.h>
#include <headrace/engine/runtime/runtime.h>

#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

namespace headrace::inline v1::app {
namespace {

// The voxels around which windows lie, one a case: patches are then drawn there and nowhere else.
VolumeSet around_windows(const VolumeSet& set, const WindowPlan& plan,
                         const std::vector<std::int64_t>& places,
                         const std::array<std::int64_t, 3>& patch) {
  VolumeSet placed{.cache = set.cache};
  for (const std::int64_t place : places) {
    const PlacedBox& box = plan.boxes.at(static_cast<std::size_t>(place));
    const auto number =
        static_cast<std::size_t>(plan.cases.at(static_cast<std::size_t>(box.volume)));
    VolumeCase one = set.cases.at(number);
    one.middle.emplace();
    for (std::size_t axis = 0; axis < 3; ++axis)
      (*one.middle)[axis] = box.begin[axis] + patch[axis] / 2;
    placed.cases.push_back(std::move(one));
    placed.prepared.push_back(set.prepared.at(number));
  }
  return placed;
}

DataPart part_of(std::string name, const TaskConfig& config, const VolumeRecords& records,
                 const std::vector<std::int64_t>& cases) {
  const VolumeFeed feed = volume_feed(config, records);
  const auto plan =
      std::make_shared<const WindowPlan>(plan_windows(records.set, cases, feed.volume.patch, 1.0));
  const auto windows = window_source(records.set, *plan, feed);
  return {.name = std::move(name),
          .records = windows,
          .fields = windows->fields(),
          .classes = records.classes,
          .fed = [set = records.set, feed, plan,
                  batch = config.training.batch](std::vector<std::int64_t> places) {
            VolumeFeed once = feed;
            once.volume.patches = 1;
            once.volume.visit = 1;
            std::vector<std::int64_t> all(places.size());
            std::iota(all.begin(), all.end(), 0);
            return volume_training_pipeline(around_windows(set, *plan, places, feed.volume.patch),
                                            all, once, {.size = batch, .tail = Tail::shorter},
                                            Device::cpu())
                .order(Sequential{});
          }};
}

}  // namespace

VolumeFeed volume_feed(const TaskConfig& config, const VolumeRecords& records) {
  return {.volume = config.task.volume,
          .augment = config.task.augment,
          .delay = config.delay,
          .seed = config.seed,
          .rows = config.training.batch * config.training.accumulation,
          .epoch_size = config.task.data.epoch_size,
          .ignore = records.ignore,
          .classes = static_cast<std::int64_t>(records.classes.size())};
}

namespace {

OpenVolumes volumes_of(const TaskConfig& config, const VolumeClasses& expected) {
  const int threads = config.threads.loader > 0 ? config.threads.loader : usable_cores();
  const TaskData& data = config.task.data;
  return {.folder = data.train.folder,
          .validation = data.validation.folder,
          .test = data.test.folder,
          .expected = expected,
          .split = data.split,
          .duplicates = data.duplicates,
          .listings = data.listings,
          .follow_links = data.follow_links,
          .seed = config.seed,
          .threads = threads};
}

}  // namespace

void check_volume_data(const TaskConfig& config) {
  OpenVolumes what = volumes_of(config, {});
  what.listings.clear();
  check_volume_records(what, config.task.volume);
}

VolumeRecords open_volumes(const TaskConfig& config, const VolumeClasses& expected) {
  VolumeRecords records = open_volume_records(volumes_of(config, expected), config.task.volume);
  watch_volume_reads(records.set, config.task.volume);
  return records;
}

LoaderJob volume_loader_job(const TaskConfig& config, const VolumeClasses& expected) {
  const VolumeRecords records = open_volumes(config, expected);
  const VolumeFeed feed = volume_feed(config, records);
  const std::vector<std::int64_t> cases = records.members.front().train;
  const Device device = config.device == DeviceChoice::cuda ? Device::cuda(0) : Device::cpu();
  const auto patches = patch_source(records.set, cases, feed);
  return {.source = {.outline = patches, .open = [patches] { return patches; }},
          .pipeline =
              [set = records.set, cases, feed, device,
               batch = config.training.batch](const std::shared_ptr<const Source>&) {
                return volume_training_pipeline(set, cases, feed,
                                                {.size = batch, .tail = Tail::drop}, device);
              },
          .options = loader_options(config.task.data.prefetch, config.threads),
          .runtime = runtime_options(config.threads),
          .consumer_delay_s = config.delay.consumer.seconds};
}

std::vector<DataPart> volume_data_parts(const TaskConfig& config, const VolumeClasses& expected) {
  const VolumeRecords records = open_volumes(config, expected);
  const SplitParts& member = records.members.front();
  std::vector<DataPart> parts;
  const auto add = [&](const char* name, const std::vector<std::int64_t>& cases) {
    if (!cases.empty()) parts.push_back(part_of(name, config, records, cases));
  };
  add("training", member.train);
  add("validation", member.validation);
  add("test", member.test);
  return parts;
}

}  // namespace headrace::inline v1::app
