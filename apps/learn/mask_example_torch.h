#pragma once

#include <headrace/engine/batch/batch.h>
#include <headrace/training/example.h>

#include <cstdint>
#include <optional>

namespace headrace::inline v1::app {

/// How a batch of pictures becomes the example of a network of masks.
class UnpackMasks {
 public:
  /// `masks`: scores are of so many masks by themselves, not of one softmax over all classes.
  UnpackMasks(training::ImageFields fields, std::optional<std::int64_t> masks);

  /// Input `image` float [N, 3, H, W]; target `mask` int64 [N, H, W], the class of each pixel, or
  /// float [N, masks, H, W] without the background, ignored pixels in all of them; the pictures'
  /// own sizes where the batch has them. A batch without masks is one to predict.
  training::Example operator()(const Batch& batch, at::Device device) const;

 private:
  std::optional<std::int64_t> masks_;
  training::Unpack unpack_;
};

}  // namespace headrace::inline v1::app
