#pragma once

#include <headrace/augment/volume/grid_extent.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// The middle of a volume: along each axis min(side, extent) voxels from
/// (extent - min(side, extent)) / 2 on, rounded down.
HEADRACE_API GridBox centre_box(const GridExtent& extent, std::int64_t side);

/// What a topological loss needs of the label: adds field `to`, int32 [3], the Betti numbers b0,
/// b1, b2 of some labels in centre_box(), where voxels hang together by corners and the background
/// by faces (`Neighbours::corners` of betti_numbers()). What lies outside of the box counts as
/// background. The label is uint8, int16, int32 or int64 [z, y, x] or [1, z, y, x].
struct HEADRACE_API BettiTargets {
  std::int64_t side = 48;  ///< of the box along each axis at most, 1 to 1024
  /// What is the object; none: all but 0 and `ignore`. All else is background.
  std::vector<std::int64_t> labels{};
  std::int64_t ignore = -1;
  std::string field = "label";
  std::string to = "betti";

  std::string name() const { return "betti targets"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no labels.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  /// Throws DataError for what is no label.
  void operator()(Sample& sample) const;
};

}  // namespace headrace::inline v1
