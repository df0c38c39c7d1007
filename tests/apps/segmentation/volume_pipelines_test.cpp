// Volumes of a data set, prepared, cut into patches and windows.
#include <headrace/apps/jobs/segmentation/config.h>
#include <headrace/apps/learn/volume_job.h>
#include <headrace/apps/task/volume_pipelines.h>
#include <headrace/apps/task/volume_records.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/tests/loaders/volume/nnunet_raw_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::app {
namespace {

/// A configuration on a data set of four cases of two channels, prepared in a folder of its own.
struct Data {
  test::NnUNetRawFiles files{};
  test::TemporaryFolder store{};
  SegmentationConfig config{};

  Data() {
    config.task.data.train = {.source = RecordsIn::volumes, .folder = files.path()};
    config.task.volume.store = store.path();
    config.task.volume.patch = {8, 16, 12};
    config.task.volume.patches = 3;
    config.task.augment = augment_list("[spatial, nnunet_intensity]");
    config.training.batch = 2;
    config.task.data.split.validation = 0.25;
    config.task.data.split.test = 0.0;
  }
};

std::vector<std::byte> bytes_of(const Pipeline& pipeline, int threads) {
  LoaderOptions options;
  options.runtime = Runtime({.threads = threads});
  Loader loader = Pipeline(pipeline).build(options);
  std::vector<std::byte> all;
  for (const Batch& batch : loader.epoch(1))
    for (const char* name : {"image", "label"}) {
      const Tensor& field = batch[name];
      const auto* from = static_cast<const std::byte*>(field.raw());
      all.insert(all.end(), from, from + field.bytes());
    }
  return all;
}

}  // namespace

TEST_CASE("a data set is prepared once, opened and divided") {
  const Data data;
  const VolumeRecords records = open_volumes(data.config);
  CHECK(records.classes == std::vector<std::string>{"background", "organ", "tumour"});
  CHECK(!records.ignore);
  CHECK(records.set.channels() == 2);
  REQUIRE(records.set.cases.size() == 4);
  // All of it, decoded, is less than the cache may hold.
  CHECK(records.set.cache->most_bytes() < data.config.task.volume.cache.value);
  CHECK(records.set.resident_bytes() >= records.set.cache->most_bytes());
  REQUIRE(records.members.size() == 1);
  CHECK(records.members[0].train.size() == 3);
  CHECK(records.members[0].validation.size() == 1);
  for (std::size_t i = 0; i < 4; ++i) {
    const VolumeIndex& shape = records.set.cases[i].images[0]->info().shape;
    for (std::size_t axis = 0; axis < 3; ++axis)
      CHECK(shape[axis + 1] == records.set.prepared[i].extent[axis]);
  }
  const auto changed = std::filesystem::last_write_time(records.set.prepared[0].image);
  open_volumes(data.config);
  CHECK(std::filesystem::last_write_time(records.set.prepared[0].image) == changed);
}

TEST_CASE("training patches are the same bytes for any number of threads") {
  const Data data;
  const VolumeRecords records = open_volumes(data.config);
  const VolumeFeed feed = volume_feed(data.config, records);
  const auto pipeline = [&](const VolumeFeed& of) {
    return volume_training_pipeline(records.set, records.members[0].train, of,
                                    {.size = 2, .tail = Tail::drop}, Device::cpu());
  };
  const std::vector<std::byte> one = bytes_of(pipeline(feed), 1);
  // 9 patches of an epoch make 4 batches.
  CHECK(one.size() == 4U * 2U * 8U * 16U * 12U * (2U * sizeof(float) + 1U));
  CHECK(bytes_of(pipeline(feed), 2) == one);
  CHECK(bytes_of(pipeline(feed), 8) == one);
  VolumeFeed other = feed;
  ++other.seed;
  CHECK(bytes_of(pipeline(other), 2) != one);
}

TEST_CASE("windows side by side hold every voxel of their volumes") {
  const Data data;
  const VolumeRecords records = open_volumes(data.config);
  const VolumeFeed feed = volume_feed(data.config, records);
  const WindowPlan plan = plan_windows(records.set, {2, 0}, feed.volume.patch, 1.0);
  CHECK(plan.size() == plan.grids[0].size() + plan.grids[1].size());
  Loader loader = volume_window_pipeline(records.set, plan, feed, 3, Device::cpu()).build();
  std::int64_t row = 0;
  for (const Batch& batch : loader.epoch(0)) {
    const auto* labels = batch["label"].data<std::uint8_t>();
    for (std::int64_t r = 0; r < batch.size(); ++r, ++row) {
      const PlacedBox& box = plan.boxes[static_cast<std::size_t>(row)];
      const auto number =
          static_cast<std::size_t>(plan.cases[static_cast<std::size_t>(box.volume)]);
      const CachedVolume& label = *records.set.cases[number].label;
      const std::array<std::int64_t, 3>& patch = feed.volume.patch;
      const VolumeBox read{
          {0, box.begin[0], box.begin[1], box.begin[2]},
          {1, box.begin[0] + patch[0], box.begin[1] + patch[1], box.begin[2] + patch[2]}};
      std::vector<std::byte> wanted(static_cast<std::size_t>(patch[0] * patch[1] * patch[2]));
      label.read_box(read, BoxMemory::dense(wanted.data(), read.shape(), 1));
      CHECK(std::memcmp(labels + r * static_cast<std::int64_t>(wanted.size()), wanted.data(),
                        wanted.size()) == 0);
    }
  }
  CHECK(row == plan.size());
}

TEST_CASE("a bench and an inspection see the training patches") {
  const Data data;
  const LoaderJob job = data.config.loader_job();
  CHECK(job.source.outline->size() == 9);
  Loader loader = job.build();
  std::int64_t batches = 0;
  for (const Batch& batch : loader.epoch(0)) {
    CHECK(batch.size() == 2);
    ++batches;
  }
  CHECK(batches == 4);

  const std::vector<DataPart> parts = data.config.data_parts();
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].name == "training");
  CHECK(parts[0].records->size() > 3);
  Loader fed = parts[0].fed({1, 0, 2}).build();
  std::int64_t rows = 0;
  for (const Batch& batch : fed.epoch(0))
    rows += batch.size();
  CHECK(rows == 3);
}

TEST_CASE("without the list what is fed in a window's place is the window") {
  Data data;
  data.config.task.augment.clear();
  const DataPart part = data.config.data_parts().front();
  Loader fed = part.fed({0, 1}).build();
  std::int64_t place = 0;
  for (const Batch& batch : fed.epoch(0)) {
    const std::size_t bytes = batch["image"].bytes() / static_cast<std::size_t>(batch.size());
    for (std::int64_t r = 0; r < batch.size(); ++r, ++place) {
      Sample sample;
      part.records->read(place, sample);
      CHECK(sample["image"].bytes() == bytes);
      const auto* got = static_cast<const std::byte*>(batch["image"].raw());
      CHECK(std::memcmp(got + static_cast<std::size_t>(r) * bytes, sample["image"].raw(), bytes) ==
            0);
    }
  }
  CHECK(place == 2);
}

TEST_CASE("the rule of rows counts the samples between two updates, however they are batched") {
  Data data;
  data.config.task.augment.clear();
  data.config.task.volume.sampling = {.foreground = 0.5, .forced = PatchSampling::Forced::by_row};
  const auto patches = [&](std::int64_t batch, std::int64_t accumulation) {
    data.config.training.batch = batch;
    data.config.training.accumulation = accumulation;
    const VolumeRecords records = open_volumes(data.config);
    return bytes_of(volume_training_pipeline(records.set, {0, 1}, volume_feed(data.config, records),
                                             {.size = 2, .tail = Tail::drop}, Device::cpu()),
                    1);
  };
  const std::vector<std::byte> two = patches(2, 1);
  CHECK(patches(1, 2) == two);
  // Of batches of 1 no sample is forced to have its middle in a class.
  CHECK(patches(1, 1) != two);
}

TEST_CASE("what a data set does not have is said before it is prepared") {
  const auto refused = [](const auto& change) {
    Data data;
    change(data.config);
    try {
      open_volumes(data.config);
    } catch (const ConfigError& error) {
      CHECK(std::filesystem::is_empty(data.store.path()));
      return std::string(error.what());
    }
    return std::string();
  };
  using Config = SegmentationConfig;
  CHECK(refused([](Config& c) {
          c.task.volume.sampling.classes = {1, 3};
        }).find("volume.sampling.classes must be labels of classes, 0 to 2, got 3") !=
        std::string::npos);
  CHECK(refused([](Config& c) {
          c.task.data.split.group = "patient";
        }).find("data.split.group must have <group> once") != std::string::npos);
  CHECK(refused([](Config& c) {
          c.task.volume.preparation.channels.resize(3);
        }).find("an entry for each of 2 channels") != std::string::npos);
}

TEST_CASE("more classes than a byte holds are all in the index of foreground") {
  CHECK(naming_labels({}, 256).sampling.classes.empty());
  CHECK(naming_labels({}, 300).sampling.classes.size() == 299);
  VolumeSettings some;
  some.sampling.classes = {7};
  CHECK(naming_labels(some, 300).sampling.classes == std::vector<std::int64_t>{7});
}

}  // namespace headrace::app
