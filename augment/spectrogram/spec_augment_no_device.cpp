#include <headrace/augment/spectrogram/detail/spec_task.h>
#include <headrace/engine/error.h>

namespace headrace::inline v1::detail {

void spec_augment_on_device(const SpecTask&, void*) {
  throw DeviceError(
      "[spec augment] a batch in device memory needs the device code, which this build leaves out; "
      "build with HEADRACE_CUDA=ON, or use SpecAugment before batch()");
}

}  // namespace headrace::inline v1::detail
