#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/batch/batch.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstddef>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Turns uint8 pictures, channels last, into (v / 255 - mean) / std in float32, float16 or
/// bfloat16, mirrored where a field says so. Before batch() it works on a sample's [H, W, C]; after
/// batch() on a batch's [rows, H, W, C], in memory of the batch, where the batch is: the better
/// place, since one byte a value travels to the device. One pass, on the stream of the batch's
/// operations, never synchronised. Computed as v * (1 / (255 std)) - mean / std in float32 with two
/// roundings, on host and device and every vector width alike: equal bits.
struct HEADRACE_API Normalize {
  enum class Layout : unsigned char {
    channels_first,  ///< [C, H, W]
    channels_last,   ///< [H, W, C]
  };

  std::vector<float> mean = {0.0F};  ///< per channel, or one for all; of values in [0, 1]
  std::vector<float> std = {1.0F};   ///< as many as means
  DType dtype = DType::float32;
  Layout layout = Layout::channels_first;
  std::string field = "image";
  /// Name of a uint8 [] field: pictures where it is not 0 are mirrored left to right
  /// (HorizontalFlip's mark). Empty: none.
  std::string flips = {};
  /// Name of a float32 [2] field, gain and bias of each picture: v becomes v * gain + bias (in
  /// levels, not held within 0 to 255) first; two more roundings, of the factor and the offset.
  /// Empty: 1 and 0.
  std::string levels = {};

  /// Means and deviations of ImageNet's RGB pictures, as torchvision's models take them.
  static Normalize imagenet(DType dtype = DType::float32, Layout layout = Layout::channels_first);

  std::string name() const { return "normalize"; }
  /// Throws ConfigError for means and deviations that fit neither each other nor the channels,
  /// deviations that are not positive, other dtypes, fields that are no pictures, and parameter
  /// fields of another kind.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  void operator()(Sample& sample) const;
  /// Throws PipelineError for fields that are no pictures or parameters, DeviceError where the
  /// kernel cannot be started.
  void operator()(Batch& batch, Stream stream) const;
};

}  // namespace headrace::inline v1
