#pragma once

#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/loader_settings.h>
#include <headrace/apps/task/volume_set.h>
#include <headrace/apps/task/volume_settings.h>
#include <headrace/augment/volume/window_grid.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/loaders/volume/volume_boxes.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace headrace::inline v1::app {

/// What the pipelines of a task on volumes have in common.
struct VolumeFeed {
  VolumeSettings volume{};
  AugmentList augment{};
  PlantedDelays delay{};
  std::uint64_t seed = 0;
  std::int64_t rows = 1;        ///< between two updates, of which the rule "rows" chooses some
  std::int64_t epoch_size = 0;  ///< patches of an epoch; 0: `volume.patches` of each case
  std::optional<std::int64_t> ignore{};
  std::int64_t classes = 0;
};

/// The places of the patches to train on: `volume.patches` of each of these cases an epoch.
std::shared_ptr<const Source> patch_source(const VolumeSet& set,
                                           const std::vector<std::int64_t>& cases,
                                           const VolumeFeed& feed);

/// Patches of that source through the list augment, whose order is fresh every epoch. Batches:
/// `image` float32 [N, C, Z, Y, X], `label` integers [N, Z, Y, X]. On a device patches are made
/// there where all entries have a form for it, else in host memory.
Pipeline volume_training_pipeline(const VolumeSet& set, const std::vector<std::int64_t>& cases,
                                  const VolumeFeed& feed, const Batching& batching, Device device);

/// The windows of some cases, in the order in which they are fed.
struct WindowPlan {
  std::vector<std::int64_t> cases{};  ///< numbers in the set
  std::vector<WindowGrid> grids{};    ///< of each of them
  std::vector<PlacedBox> boxes{};     ///< of all; `volume` counts these cases from 0

  std::int64_t size() const { return static_cast<std::int64_t>(boxes.size()); }
};

/// Windows of `patch` that step on by at most `share` of it.
WindowPlan plan_windows(const VolumeSet& set, const std::vector<std::int64_t>& cases,
                        const std::array<std::int64_t, 3>& patch, double share);

/// The voxels of these windows, and labels where cases have some.
std::shared_ptr<const Source> window_source(const VolumeSet& set, const WindowPlan& plan,
                                            const VolumeFeed& feed);

/// These windows in order: rows of the batches are
/// the plan's boxes, one after the other; the last batch is shorter.
Pipeline volume_window_pipeline(const VolumeSet& set, const WindowPlan& plan,
                                const VolumeFeed& feed, std::int64_t batch, Device device);

/// Has what patches of these volumes unpack counted (feed/read_window.h) while their cache is in
/// use. Nothing is counted as long as no decoded block had to go: each was unpacked once then,
/// whatever its shape. What could be changed is `volume.visit`, where more patches at a visit
/// unpack less, else `volume.cache`.
void watch_volume_reads(const VolumeSet& set, const VolumeSettings& volume);

}  // namespace headrace::inline v1::app
