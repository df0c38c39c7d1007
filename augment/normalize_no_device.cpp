#include <headrace/augment/detail/normalize_task.h>
#include <headrace/engine/error.h>

namespace headrace::inline v1::detail {

void normalize_on_device(const NormalizeTask&, Device, void*) {
  throw DeviceError(
      "[normalize] a batch in device memory needs the device code, which this build leaves out; "
      "build with HEADRACE_CUDA=ON, or put the step before batch()");
}

}  // namespace headrace::inline v1::detail
