#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/optimizer/precision.h>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

/// A precision for the scope it lives in. bf16 and fp16: matrix products and convolutions run in
/// bfloat16 or half on the thread that made it, but on a device that has no mixed precision, as
/// `meta`. Whether products of floats may be in TF32 is set for the process, and set back. Have one
/// a step, around forward and loss; the backward pass runs outside.
class HEADRACE_API Autocast {
 public:
  Autocast(Precision precision, at::DeviceType device);
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  ~Autocast();

 private:
  bool tf32_in_products_before_;
  bool tf32_in_convolutions_before_;
  bool active_;
  at::DeviceType device_;
  bool enabled_before_ = false;
  at::ScalarType type_before_ = at::kFloat;
};

}  // namespace headrace::inline v1::training
