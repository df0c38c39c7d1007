#include <headrace/training/optimizer/autocast.h>

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

namespace headrace::inline v1::training {

namespace {

bool is_half(Precision precision) {
  return precision == Precision::bf16 || precision == Precision::fp16;
}

void set_tf32(bool in_products, bool in_convolutions) {
  at::Context& context = at::globalContext();
  if (context.allowTF32CuBLAS() != in_products) context.setAllowTF32CuBLAS(in_products);
  if (context.allowTF32CuDNN() != in_convolutions) context.setAllowTF32CuDNN(in_convolutions);
}

}  // namespace

Autocast::Autocast(Precision precision, at::DeviceType device)
    : tf32_in_products_before_(at::globalContext().allowTF32CuBLAS()),
      tf32_in_convolutions_before_(at::globalContext().allowTF32CuDNN()),
      active_(is_half(precision) && at::autocast::is_autocast_available(device)),
      device_(device) {
  set_tf32(precision == Precision::tf32, precision == Precision::tf32);
  if (!active_) return;
  enabled_before_ = at::autocast::is_autocast_enabled(device_);
  type_before_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_,
                                   precision == Precision::bf16 ? at::kBFloat16 : at::kHalf);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  set_tf32(tf32_in_products_before_, tf32_in_convolutions_before_);
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, enabled_before_);
  at::autocast::set_autocast_dtype(device_, type_before_);
}

}  // namespace headrace::inline v1::training
