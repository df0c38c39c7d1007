#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// The skeleton of some labels for the skeleton recall loss: adds field `to`, uint8 of the label's
/// shape. Thinning after Lee, Kashyap, Chu: "Building Skeleton Models via 3-D Medial Surface/Axis
/// Thinning Algorithms" (1994), voxel for voxel that of scikit-image's skeletonize(). The label is
/// uint8, int16, int32 or int64 [z, y, x] or [1, z, y, x].
struct HEADRACE_API Skeleton {
  /// What is thinned; none: all but 0 and `ignore`, as one.
  std::vector<std::int64_t> labels{};
  std::int64_t ignore = -1;
  /// Times that the skeleton is then grown by the 6 neighbours, inside and outside of the labels;
  /// nnU-Net's skeleton recall has 2.
  int grow = 2;
  /// The skeleton is 1; or else it has the voxel's label, which leaves nothing outside of it, and
  /// then labels must be 0 to 255.
  bool keep_labels = false;
  /// Each slice along z is thinned on its own.
  bool slices = false;
  std::string field = "label";
  std::string to = "skeleton";

  std::string name() const { return "skeleton"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no labels.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  /// Throws DataError for what is no label, and, with keep_labels, for one beyond 255.
  void operator()(Sample& sample) const;
};

}  // namespace headrace::inline v1
