#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/precision.h>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

/// Mixed precision for the scope it lives in, on the thread that made it: matrix products and
/// convolutions run in bfloat16 or half. Have one a step, around forward and loss; the backward
/// pass runs outside. With fp32 and tf32 it changes nothing, nor on a device that has no mixed
/// precision, as `meta`.
class HEADRACE_API Autocast {
 public:
  Autocast(Precision precision, at::DeviceType device);
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  ~Autocast();

 private:
  bool active_;
  at::DeviceType device_;
  bool enabled_before_ = false;
  at::ScalarType type_before_ = at::kFloat;
};

}  // namespace headrace::inline v1::training
