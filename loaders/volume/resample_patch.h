#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/batch/batch.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <cstdint>
#include <string>

namespace headrace::inline v1 {

/// Fields by which VolumePatches hands on what was read and drawn for a patch, until it is
/// resampled: the boxes in the fields of image and label themselves, ragged, of the stored type.
struct PatchFields {
  static constexpr const char* map = "patch_map";        ///< uint8, the coordinate map
  static constexpr const char* moves = "patch_moves";    ///< ragged float32, its displacement
  static constexpr const char* values = "patch_values";  ///< float32 [C, 2], scale and offset
};

/// How labels are resampled.
enum class LabelSampling : unsigned char {
  nearest,
  /// Trilinear weights of the voxels around are summed for each label; the heaviest stays, of equal
  /// ones the smallest.
  one_hot,
};

/// Cuts patches out of the boxes that VolumePatches has read: one pass over the patch, from the
/// stored voxels, trilinear, whatever the map is made of. Image [C, Z, Y, X] float32 (value =
/// stored * scale + offset), label [Z, Y, X] of its stored type. On the CPU sample by sample, the
/// same bits on every vector width; ResamplePatches does a batch, on a device by two kernels, to
/// the same bits.
struct HEADRACE_API ResamplePatch {
  std::array<std::int64_t, 3> patch{};  ///< z, y, x
  LabelSampling labels = LabelSampling::one_hot;
  std::string image = "image";
  std::string label = "label";  ///< empty: none

  std::string name() const { return "resample patch"; }
  /// Throws ConfigError for a patch without voxels and fields that are no boxes.
  Schema schema(const Schema& in) const;
  /// Throws DataError for boxes that do not fit their map, and a map of another patch.
  void operator()(Sample& sample) const;
};

/// The same after batch(), where the batch is. On a device the boxes and maps travel, a fraction of
/// the patches' bytes where these are float32.
struct HEADRACE_API ResamplePatches {
  ResamplePatch each{};

  std::string name() const { return "resample patches"; }
  /// Throws ConfigError as ResamplePatch does.
  Schema schema(const Schema& in) const { return each.schema(in); }
  /// Rows whose map is of another patch become 0. Throws PipelineError for fields that do not fit,
  /// DeviceError.
  void operator()(Batch& batch, Stream stream) const;
};

}  // namespace headrace::inline v1
