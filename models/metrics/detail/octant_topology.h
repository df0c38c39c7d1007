#pragma once

#include <headrace/models/metrics/mask_pair.h>
#include <headrace/models/metrics/topology_score.h>

#include <array>

namespace headrace::inline v1::models::detail {

/// The counts of one part of the volume.
std::array<TopologyCounts, 3> octant_topology(const MaskPair& pair, const GridBox& box);

}  // namespace headrace::inline v1::models::detail
