#include <headrace/apps/feed/delay.h>
#include <headrace/apps/feed/read_window.h>
#include <headrace/apps/task/volume_pipelines.h>
#include <headrace/engine/sample/expanded.h>
#include <headrace/loaders/volume/resample_patch.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace headrace::inline v1::app {
namespace {

std::vector<VolumeCase> cases_of(const VolumeSet& set, const std::vector<std::int64_t>& numbers) {
  std::vector<VolumeCase> chosen;
  chosen.reserve(numbers.size());
  for (const std::int64_t number : numbers)
    chosen.push_back(set.cases.at(static_cast<std::size_t>(number)));
  return chosen;
}

std::shared_ptr<const VolumePatches> patches_of(const VolumeSet& set,
                                                const std::vector<std::int64_t>& cases,
                                                const VolumeFeed& feed,
                                                const SpatialTransform& transform) {
  PatchSampling sampling = feed.volume.sampling;
  sampling.ignore = feed.ignore;
  sampling.batch = feed.rows;
  return std::make_shared<const VolumePatches>(cases_of(set, cases),
                                               VolumePatchesOptions{.patch = feed.volume.patch,
                                                                    .sampling = std::move(sampling),
                                                                    .transform = transform,
                                                                    .seed = feed.seed});
}

}  // namespace

std::shared_ptr<const Source> patch_source(const VolumeSet& set,
                                           const std::vector<std::int64_t>& cases,
                                           const VolumeFeed& feed) {
  const SpatialEntry spatial = spatial_of(feed.augment).value_or(SpatialEntry{.transform = {}});
  return std::make_shared<const Expanded>(patches_of(set, cases, feed, spatial.transform),
                                          feed.volume.patches);
}

Pipeline volume_training_pipeline(const VolumeSet& set, const std::vector<std::int64_t>& cases,
                                  const VolumeFeed& feed, const Batching& batching, Device device) {
  const SpatialEntry spatial = spatial_of(feed.augment).value_or(SpatialEntry{.transform = {}});
  const auto patches = patches_of(set, cases, feed, spatial.transform);
  const ResamplePatch resample = patches->resample(spatial.labels);
  const bool on_device = device.is_cuda() && all_on_device(feed.augment);
  const AugmentSteps steps = make_augment_steps(without_spatial(feed.augment),
                                                {.fields = resample.schema(patches->fields()),
                                                 .masks = {"label"},
                                                 .ignore = feed.ignore,
                                                 .classes = feed.classes,
                                                 .seed = feed.seed,
                                                 .batch = batching.size,
                                                 .batch_key = "training.batch",
                                                 .device = device,
                                                 .patch_on_device = on_device});
  Pipeline pipeline = Pipeline::from(
      std::make_shared<const Expanded>(slow_read(patches, feed.delay), feed.volume.patches));
  pipeline = slow_decode(std::move(pipeline), feed.delay.decode);
  if (!on_device) pipeline = std::move(pipeline).then(resample);
  pipeline = slow_augment(steps.before_batch(std::move(pipeline)), feed.delay.augment)
                 .named("train")
                 .seed(feed.seed)
                 .batch(batching)
                 .to(device);
  if (on_device) pipeline = std::move(pipeline).then(ResamplePatches{resample});
  pipeline = slow_transfer(steps.after_batch(std::move(pipeline)), feed.delay.transfer);
  if (feed.volume.visit == 1)
    return std::move(pipeline).order(Shuffled{.seed = feed.seed, .epoch_size = feed.epoch_size});
  return std::move(pipeline).order(ShuffledByChunk{.seed = feed.seed, .chunk = feed.volume.visit});
}

WindowPlan plan_windows(const VolumeSet& set, const std::vector<std::int64_t>& cases,
                        const std::array<std::int64_t, 3>& patch, double share) {
  WindowPlan plan{.cases = cases};
  for (const std::int64_t number : cases) {
    const auto& extent = set.prepared.at(static_cast<std::size_t>(number)).extent;
    const auto of = static_cast<std::int64_t>(plan.grids.size());
    const WindowGrid& grid =
        plan.grids.emplace_back(extent, WindowOptions{.patch = patch, .share = share});
    for (std::int64_t window = 0; window < grid.size(); ++window)
      plan.boxes.push_back({.volume = of, .begin = grid[window].begin});
  }
  return plan;
}

std::shared_ptr<const Source> window_source(const VolumeSet& set, const WindowPlan& plan,
                                            const VolumeFeed& feed) {
  return std::make_shared<const VolumeBoxes>(
      cases_of(set, plan.cases), plan.boxes,
      VolumeBoxesOptions{.extent = feed.volume.patch, .outside_label = feed.ignore.value_or(0)});
}

Pipeline volume_window_pipeline(const VolumeSet& set, const WindowPlan& plan,
                                const VolumeFeed& feed, std::int64_t batch, Device device) {
  return Pipeline::from(window_source(set, plan, feed))
      .named("evaluation")
      .order(Sequential{})
      .batch({.size = batch, .tail = Tail::shorter})
      .to(device);
}

namespace {

using Extent = std::array<std::int64_t, 3>;

constexpr double clearly_less = 0.75;

struct Change {
  std::string setting{};
  std::string old_value{};
  std::string new_value{};
  double predicted = 0.0;  // read amplification
  std::uint64_t memory_needed = 0;
};

Extent block_of(const VolumeInfo& info) {
  return {info.block[1], info.block[2], info.block[3]};
}

double voxels(const Extent& extent) {
  double product = 1.0;
  for (const std::int64_t side : extent)
    product *= static_cast<double>(side);
  return product;
}

// Of a patch at any place, without a cache: along an axis it touches 1 + (patch - 1) / block blocks
// in the mean.
double alone(const Extent& block, const Extent& patch) {
  double product = 1.0;
  for (std::size_t axis = 0; axis < patch.size(); ++axis)
    product *=
        static_cast<double>(patch[axis] + block[axis] - 1) / static_cast<double>(patch[axis]);
  return product;
}

std::uint64_t decoded_bytes(const VolumeInfo& info) {
  return static_cast<std::uint64_t>(voxels_of(info.grid())) * info.block_bytes();
}

std::uint64_t decoded_bytes(const VolumeSet& set) {
  std::uint64_t bytes = 0;
  for (const VolumeCase& one : set.cases) {
    for (const auto& image : one.images)
      bytes += decoded_bytes(image->info());
    if (one.label) bytes += decoded_bytes(one.label->info());
  }
  return bytes;
}

// All patches of a volume at one visit unpack its blocks once at most.
double at_one_visit(const VolumeSet& set, const VolumeSettings& volume) {
  double all = 0.0;
  for (const PreparedCase& one : set.prepared)
    all += voxels(one.extent);
  const double patches = static_cast<double>(volume.patches) * voxels(volume.patch);
  return all / static_cast<double>(set.prepared.size()) / patches;
}

Change change_for(const VolumeSet& set, const VolumeSettings& volume, const Extent& block) {
  const double with_visits = at_one_visit(set, volume);
  if (volume.visit < volume.patches && with_visits < clearly_less * alone(block, volume.patch))
    return {.setting = "volume.visit",
            .old_value = std::to_string(volume.visit),
            .new_value = std::to_string(volume.patches),
            .predicted = std::max(with_visits, 1.0)};
  constexpr std::uint64_t mib = 1 << 20;
  const Bytes whole{(decoded_bytes(set) + mib - 1) / mib * mib};
  return {.setting = "volume.cache",
          .old_value = format_exact(volume.cache),
          .new_value = format_exact(whole),
          .predicted = 1.0,
          .memory_needed = whole.value - std::min(whole.value, volume.cache.value)};
}

}  // namespace

void watch_volume_reads(const VolumeSet& set, const VolumeSettings& volume) {
  if (set.cases.empty() || set.cases.front().images.empty()) return;
  const Extent block = block_of(set.cases.front().images.front()->info());
  const Change change = change_for(set, volume, block);
  watch_reads([known = std::weak_ptr(set.cache), block, patch = volume.patch,
               change]() -> std::optional<monitor::ReadFacts> {
    const auto cache = known.lock();
    if (!cache) return std::nullopt;
    const BlockCacheStats stats = cache->stats();
    if (stats.evictions == 0) return monitor::ReadFacts{};
    monitor::ReadFacts facts =
        monitor::patch_reads({.unpacked = static_cast<double>(stats.bytes_decoded),
                              .used = static_cast<double>(stats.bytes_delivered)},
                             block, patch);
    facts.setting = change.setting;
    facts.old_value = change.old_value;
    facts.new_value = change.new_value;
    facts.predicted = change.predicted;
    facts.memory_needed = change.memory_needed;
    return facts;
  });
}

}  // namespace headrace::inline v1::app
