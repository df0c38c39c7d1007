#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// The label at the smaller sizes of deep supervision: adds fields "<field>_1", "<field>_2", ... of
/// the label's dtype, each made from the full label. The label is uint8, int16, int32 or int64
/// [z, y, x] or [1, z, y, x].
struct HEADRACE_API DeepSupervisionTargets {
  enum class Rule : unsigned char {
    /// The voxel that PyTorch's interpolate(mode="nearest-exact") takes, as nnU-Net does.
    nearest,
    /// For thin surfaces, which `nearest` loses: over all voxels that a smaller one covers in part
    /// or
    /// whole the largest foreground label; else `ignore` where there is one; else 0.
    surface,
  };
  enum class Sides : unsigned char {
    nearest,  ///< of side / factor, halves to even, as nnU-Net does
    down,     ///< what pooling and strides without padding leave
    up,       ///< what strides with padding leave
  };

  /// For each level by what z, y and x are divided: 1 or more, whole or not.
  std::vector<std::array<double, 3>> factors = {{2, 2, 2}, {4, 4, 4}, {8, 8, 8}};
  Rule rule = Rule::nearest;
  Sides sides = Sides::nearest;
  std::int64_t ignore = -1;
  std::string field = "label";

  std::string name() const { return "deep supervision targets"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no labels.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  /// Throws DataError for what is no label.
  void operator()(Sample& sample) const;
};

}  // namespace headrace::inline v1
