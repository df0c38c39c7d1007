#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/mask.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>
#include <headrace/loaders/image/crop.h>
#include <headrace/loaders/image/resize.h>

#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Crops, resizes and mirrors a picture that is already decoded, uint8 [H, W, C], and its masks
/// (engine/sample/mask.h) in one pass, with DecodeImage's geometry and draws: torchvision's
/// RandomResizedCrop, Resize, and Resize with CenterCrop on decoded tensors. For pictures that come
/// from tables or caches; DecodeImage does it cheaper while it decodes. The same bytes on every
/// processor.
struct HEADRACE_API CropImage {
  ImageGeometry crop = RandomResizedCrop{};
  float flip = 0.0F;  ///< probability of exchanging left and right
  Resample resample = Resample::antialias;
  std::string field = "image";
  std::vector<std::string> masks = {};

  std::string name() const { return "crop"; }
  /// Throws ConfigError for parameters that cannot be right, and for fields that are no decoded
  /// pictures or masks.
  Schema schema(const Schema& in) const;
  /// Draws the crop first, then the flip. Throws DataError for a picture that does not suit.
  void operator()(Sample& sample, Random& random) const;
};

}  // namespace headrace::inline v1
