#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// clDice's soft skeleton of some labels, which as a target are 0 and 1, so that it is, too: adds
/// field `to`, uint8 of the label's shape (Shit et al.: "clDice - a Novel Topology-Preserving Loss
/// Function for Tubular Structure Segmentation", CVPR 2021). It is the union, over a volume and
/// what erosions leave of it, of the voxels that an opening (an erosion, then a dilation by the 3 x
/// 3 x 3 cube) takes away; pooling pads with what decides nothing. The label is uint8, int16, int32
/// or int64 [z, y, x] or [1, z, y, x].
struct HEADRACE_API SoftSkeleton {
  enum class Operators : unsigned char {
    /// The published ones: erosion by the 6 neighbours; the volume itself and `iterations`
    /// erosions.
    cross,
    /// Erosion by the cube; the volume itself and `iterations - 1` erosions.
    cube,
  };

  int iterations = 3;  ///< 1 to 100
  Operators operators = Operators::cross;
  /// What has a skeleton; none: all but 0 and `ignore`, as one. All else is background.
  std::vector<std::int64_t> labels{};
  std::int64_t ignore = -1;
  std::string field = "label";
  std::string to = "soft_skeleton";

  std::string name() const { return "soft skeleton"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no labels.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  /// Throws DataError for what is no label.
  void operator()(Sample& sample) const;
};

}  // namespace headrace::inline v1
