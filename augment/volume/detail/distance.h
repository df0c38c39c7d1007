#pragma once

#include <headrace/augment/volume/detail/labels.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

/// Longest side whose lines are searched; see distances().
inline constexpr std::int64_t most_searched = 192;

struct DistanceTask {
  const std::uint8_t* features = nullptr;  ///< not 0: distance 0
  LabelGrid grid{};
  std::array<float, 3> spacing = {1.0F, 1.0F, 1.0F};
  float most = 0.0F;     ///< may be infinite
  float* out = nullptr;  ///< as many as there are voxels
};

/// Floats of memory that distances() needs.
std::size_t distance_values(const LabelGrid& grid);

/// Squared distances along x by two scans; then along y and along z the least of squares at +-1,
/// +-2,
/// ... steps, until steps alone are further, vectors of lines at once; for sides beyond
/// most_searched by lower envelopes of parabolas, unless `most` ends the search sooner. At last
/// their roots. In memory of the thread; targets as in volume_filters.h.
bool distances(const DistanceTask& task, int target = -1);

}  // namespace headrace::inline v1::detail
