#include <headrace/training/autocast.h>

#include <ATen/autocast_mode.h>

namespace headrace::inline v1::training {

namespace {

bool is_half(Precision precision) {
  return precision == Precision::bf16 || precision == Precision::fp16;
}

}  // namespace

Autocast::Autocast(Precision precision, at::DeviceType device)
    : active_(is_half(precision) && at::autocast::is_autocast_available(device)), device_(device) {
  if (!active_) return;
  enabled_before_ = at::autocast::is_autocast_enabled(device_);
  type_before_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_,
                                   precision == Precision::bf16 ? at::kBFloat16 : at::kHalf);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, enabled_before_);
  at::autocast::set_autocast_dtype(device_, type_before_);
}

}  // namespace headrace::inline v1::training
