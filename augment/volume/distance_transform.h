#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Euclidean distance of every voxel's centre to that of the nearest voxel of some labels, 0 on
/// them: adds field `to`, float32 of the label's shape. The label is uint8, int16, int32 or int64
/// [z, y, x] or [1, z, y, x]. Exact for whole spacings, else within 3e-7 of itself; long axes take
/// time in proportion to the voxels (Felzenszwalb, Huttenlocher: "Distance Transforms of Sampled
/// Functions", 2012), and the smaller `most`, the faster it is. Where no voxel has such a label
/// every distance is `most`.
struct HEADRACE_API DistanceTransform {
  /// Distance to these labels; none: to all but 0 and `ignore`.
  std::vector<std::int64_t> labels{};
  std::int64_t ignore = -1;
  std::array<double, 3> spacing = {1.0, 1.0, 1.0};  ///< of voxels along z, y and x
  /// Distances beyond are this; infinite: the exact distance everywhere.
  double most = std::numeric_limits<double>::infinity();
  std::string field = "label";
  std::string to = "distance";

  std::string name() const { return "distance transform"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no labels.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  /// Throws DataError for what is no label.
  void operator()(Sample& sample) const;
};

}  // namespace headrace::inline v1
