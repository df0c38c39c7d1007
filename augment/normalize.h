#pragma once

#include <string>
#include <vector>

#include <headrace/engine/batch.h>
#include <headrace/engine/export.h>
#include <headrace/engine/field.h>
#include <headrace/engine/sample.h>

namespace headrace::inline v1 {

/// Turns uint8 pictures, channels last, into (v / 255 - mean) / std in float32, float16 or
/// bfloat16. Before batch() it works on a sample's [H, W, C]; after batch() on a batch's [rows, H,
/// W, C], in memory of the batch, where the batch is: the better place, since one byte a value
/// travels to the device. Computed as v * (1 / (255 std)) - mean / std in float32 with two
/// roundings, on host and device alike: equal bits.
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

  /// Means and deviations of ImageNet's RGB pictures, as torchvision's models take them.
  static Normalize imagenet(DType dtype = DType::float32, Layout layout = Layout::channels_first);

  std::string name() const { return "normalize"; }
  /// Throws ConfigError for means and deviations that fit neither each other nor the channels,
  /// deviations that are not positive, other dtypes, and fields that are no pictures.
  Schema schema(const Schema& in) const;
  void operator()(Sample& sample) const;
  /// Throws PipelineError for fields that are no pictures.
  void operator()(Batch& batch, Stream stream) const;
};

}  // namespace headrace::inline v1
