#include <headrace/apps/jobs/surface/surface_settings.h>
#include <headrace/apps/jobs/surface/volume_figures_torch.h>
#include <headrace/augment/volume/smooth_scores.h>
#include <headrace/models/metrics/mask_pair.h>
#include <headrace/models/metrics/surface_dice.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace headrace::inline v1::app {
namespace {

constexpr int at_once = 4;

constexpr auto reach = static_cast<std::int64_t>(leaderboard_tolerance);

/// Calls use(at) for the voxels within the tolerance of a place until it gives true.
template <class Use>
bool any_near(const GridExtent& extent, const std::array<std::int64_t, 3>& place, const Use& use) {
  std::array<std::int64_t, 3> from{}, to{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    from[axis] = std::max(place[axis] - reach, std::int64_t{0});
    to[axis] = std::min(place[axis] + reach, extent[axis] - 1);
  }
  const auto square = [](std::int64_t way) { return way * way; };
  for (std::int64_t z = from[0]; z <= to[0]; ++z)
    for (std::int64_t y = from[1]; y <= to[1]; ++y)
      for (std::int64_t x = from[2]; x <= to[2]; ++x)
        if (square(z - place[0]) + square(y - place[1]) + square(x - place[2]) <= square(reach) &&
            use(static_cast<std::size_t>((z * extent[1] + y) * extent[2] + x)))
          return true;
  return false;
}

/// Calls use(place) for each voxel of the surface.
template <class Use>
void for_surface(const JudgedVolume& volume, const Use& use) {
  std::size_t at = 0;
  for (std::int64_t z = 0; z < volume.extent[0]; ++z)
    for (std::int64_t y = 0; y < volume.extent[1]; ++y)
      for (std::int64_t x = 0; x < volume.extent[2]; ++x, ++at)
        if (volume.truth[at] == 1) use(std::array{z, y, x});
}

// 1 within the tolerance of the surface.
std::vector<std::uint8_t> grown_truth(const JudgedVolume& volume) {
  std::vector<std::uint8_t> grown(volume.truth.size());
  for_surface(volume, [&](const std::array<std::int64_t, 3>& place) {
    any_near(volume.extent, place, [&](std::size_t at) {
      grown[at] = 1;
      return false;
    });
  });
  return grown;
}

// `labels` are 0 where the truth is ignored.
double voxel_dice(const JudgedVolume& volume, const std::vector<std::uint8_t>& labels,
                  const std::vector<std::uint8_t>& grown) {
  std::int64_t predicted = 0, near = 0, there = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    predicted += labels[i];
    near += labels[i] & grown[i];
  }
  for_surface(volume, [&](const std::array<std::int64_t, 3>& place) {
    ++there;
    near += any_near(volume.extent, place, [&](std::size_t at) { return labels[at] != 0; }) ? 1 : 0;
  });
  const std::int64_t all = predicted + there;
  return all == 0 ? 1.0 : static_cast<double>(near) / static_cast<double>(all);
}

SheetFigures figures_of_labels(const JudgedVolume& volume, std::vector<std::uint8_t> labels,
                               const std::vector<std::uint8_t>& grown) {
  const std::array tolerances{leaderboard_tolerance};
  SheetFigures made{.overlap = label_overlaps(labels, volume.truth, 2, volume.ignore)[1]};
  const models::MaskPair pair(labels, volume.truth, volume.extent, volume.ignore);
  made.surface_dice = models::surface_dice(pair, tolerances).at.front().dice;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (volume.truth[i] == volume.ignore) labels[i] = 0;
  made.voxel_dice = voxel_dice(volume, labels, grown);
  return made;
}

// Where it is above the threshold, cleaned.
std::vector<std::uint8_t> decided(std::span<const float> scores, const GridExtent& extent,
                                  const VolumeDecision& decision) {
  const auto least = static_cast<float>(decision.threshold.value_or(0.5));
  std::vector<std::uint8_t> labels(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i)
    labels[i] = scores[i] > least ? 1 : 0;
  clean_labels(std::span(labels), extent, decision);
  return labels;
}

std::vector<float> smoothed(const JudgedVolume& volume, double deviation) {
  std::vector<float> made(volume.scores.begin(), volume.scores.end());
  smooth_scores(std::span(made), volume.extent, {deviation, deviation, deviation});
  return made;
}

}  // namespace

std::vector<std::uint8_t> labels_of(const JudgedVolume& volume, const VolumeDecision& decision) {
  if (decision.smooth <= 0.0) return decided(volume.scores, volume.extent, decision);
  return decided(smoothed(volume, decision.smooth), volume.extent, decision);
}

std::vector<SheetFigures> figures_of(const JudgedVolume& volume,
                                     std::span<const VolumeDecision> decisions) {
  std::map<double, std::vector<std::size_t>> by_deviation;
  for (std::size_t i = 0; i < decisions.size(); ++i)
    by_deviation[decisions[i].smooth].push_back(i);
  std::vector<SheetFigures> made(decisions.size());
  const std::vector<std::uint8_t> grown = grown_truth(volume);
  tbb::task_arena arena(std::min(at_once, tbb::this_task_arena::max_concurrency()));
  for (const auto& [deviation, numbers] : by_deviation) {
    const std::vector<float> own =
        deviation > 0.0 ? smoothed(volume, deviation) : std::vector<float>();
    const std::span<const float> scores = own.empty() ? volume.scores : std::span<const float>(own);
    arena.execute([&] {
      tbb::parallel_for(std::size_t{0}, numbers.size(), [&](std::size_t i) {
        // Who waits inside takes no other way to decide, with another copy of the labels.
        tbb::this_task_arena::isolate([&] {
          made[numbers[i]] = figures_of_labels(
              volume, decided(scores, volume.extent, decisions[numbers[i]]), grown);
        });
      });
    });
  }
  return made;
}

std::size_t figures_bytes(const GridExtent& extent, std::span<const VolumeDecision> decisions) {
  const bool closes =
      std::ranges::any_of(decisions, [](const VolumeDecision& one) { return one.closing > 0; });
  // Scores and truth on the host, smoothed scores, the truth grown.
  constexpr std::size_t once = 2 * sizeof(float) + 2;
  // Labels, bits of both masks and runs of components; a mask, distances and room for them.
  const std::size_t each = 5 + (closes ? 3 * sizeof(float) : 0);
  return static_cast<std::size_t>(voxels_of(extent)) * (once + at_once * each);
}

}  // namespace headrace::inline v1::app
