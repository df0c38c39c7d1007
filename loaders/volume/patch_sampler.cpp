#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/patch_sampler.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace headrace::inline v1 {
namespace {

using Patch = std::array<std::int64_t, 3>;

/// The least middle of an axis, and how many follow it.
struct Middles {
  std::int64_t first;
  std::int64_t count;
};

Middles middles_of(std::int64_t volume, std::int64_t patch) {
  const std::int64_t room = volume - patch;
  if (room >= 0) return {patch / 2, room + 1};
  // As much is missing before the volume as behind it; of odd gaps one more behind.
  return {-(-room / 2) + patch / 2, 1};
}

}  // namespace

void PatchSampling::check() const {
  const auto refuse = [](const std::string& rule) {
    throw ConfigError("[patch sampling] " + rule);
  };
  if (!(foreground >= 0.0 && foreground <= 1.0))
    refuse("foreground must be a share from 0 to 1, got " + std::to_string(foreground));
  if (!(most_ignored >= 0.0 && most_ignored <= 1.0))
    refuse("most_ignored must be a share from 0 to 1, got " + std::to_string(most_ignored));
  if (attempts < 1 || attempts > 1000)
    refuse("attempts must be from 1 to 1000, got " + std::to_string(attempts));
  if (batch < 1) refuse("batch must be 1 or more, got " + std::to_string(batch));
  if (ignore && std::find(classes.begin(), classes.end(), *ignore) != classes.end())
    refuse("classes must not hold the ignored label " + std::to_string(*ignore));
}

bool takes_foreground(const PatchSampling& how, std::int64_t row, Random& random) {
  const bool chosen = random.chance(how.foreground);
  if (how.forced == PatchSampling::Forced::by_chance) return chosen;
  const double others = std::nearbyint(static_cast<double>(how.batch) * (1.0 - how.foreground));
  return row % how.batch >= static_cast<std::int64_t>(others);
}

Patch uniform_middle(const VolumeIndex& volume, const Patch& patch, Random& random) {
  Patch middle{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Middles middles = middles_of(volume[axis + 1], patch[axis]);
    middle[axis] = middles.first + random.below(middles.count);
  }
  return middle;
}

Patch clamped_middle(const VolumeIndex& volume, const Patch& patch, const Patch& middle) {
  Patch inside{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Middles middles = middles_of(volume[axis + 1], patch[axis]);
    inside[axis] = std::clamp(middle[axis], middles.first, middles.first + middles.count - 1);
  }
  return inside;
}

}  // namespace headrace::inline v1
