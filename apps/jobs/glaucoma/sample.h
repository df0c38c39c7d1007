#pragma once

#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <string>

namespace headrace::inline v1::app {

/// Makes a training sample of the six maps of a record: `image` uint8 [H, W, 3], each channel the
/// mean of a pair of maps (rounded, after clipping to 0..255), and `label` int64 [], the place of
/// the largest value of the one-hot `labels`. The maps are uint8 or float32 [H, W], named as in
/// glaucoma_map_names. Records without labels get no `label`.
class GlaucomaSample {
 public:
  std::string name() const { return "pair mean"; }
  Schema schema(const Schema& in) const;
  void operator()(Sample& sample) const;
};

/// Place of the largest value of a one-hot row: uint8, float32, float64 or int64 [classes]. Throws
/// DataError for another type.
std::int64_t class_of(const Tensor& one_hot);

}  // namespace headrace::inline v1::app
