#pragma once

#include <headrace/apps/feed/augment.h>

#include <cstdint>
#include <optional>

namespace headrace::inline v1::app {

/// The side of `betti_targets` in a list; none where it is not there.
std::optional<std::int64_t> betti_side(const AugmentList& list);

/// How `soft_skeleton` of a list makes its field.
struct SkeletonMade {
  std::int64_t iterations = 3;
  bool cube = false;  ///< else by the cross

  friend bool operator==(const SkeletonMade&, const SkeletonMade&) = default;
};

/// None where it is not there.
std::optional<SkeletonMade> soft_skeleton_made(const AugmentList& list);

}  // namespace headrace::inline v1::app
