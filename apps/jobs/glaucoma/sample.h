#pragma once

#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <string>

namespace headrace::inline v1::app {

/// Makes a training sample of the six maps of a record: `image` uint8 [H, W, 3], each channel the
/// mean of a pair of maps (rounded, after clipping to 0..255), and `label` int64 [], what
/// class_of() says of `labels`. The maps are uint8, float32 or float64 [H, W], named as in
/// glaucoma_map_names. Records without labels get no `label`.
class GlaucomaSample {
 public:
  std::string name() const { return "pair mean"; }
  Schema schema(const Schema& in) const;
  void operator()(Sample& sample) const;
};

}  // namespace headrace::inline v1::app
