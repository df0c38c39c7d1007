#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/mask.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>
#include <headrace/loaders/image/resize.h>

#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Resizes a decoded picture, uint8 [H, W, C] with any C, to [height, width, C], and its masks
/// (engine/sample/mask.h) to [height, width]. The same bytes on every processor. It lives beside
/// the decoder because both stand on one kernel.
struct HEADRACE_API Resize {
  int height = 224;
  int width = 224;
  Resample resample = Resample::antialias;
  std::string field = "image";
  std::vector<std::string> masks = {};

  std::string name() const { return "resize"; }
  /// Throws ConfigError unless the field is fixed or padded uint8 [H, W, C]; the result is fixed.
  Schema schema(const Schema& in) const;
  void operator()(Sample& sample) const;

 private:
  void resize_mask(Sample& sample, const std::string& mask, const Shape& from) const;
};

}  // namespace headrace::inline v1
