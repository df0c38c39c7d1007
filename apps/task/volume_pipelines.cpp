#include <headrace/apps/feed/delay.h>
#include <headrace/apps/task/volume_pipelines.h>
#include <headrace/engine/sample/expanded.h>
#include <headrace/loaders/volume/resample_patch.h>

#include <memory>
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

}  // namespace headrace::inline v1::app
