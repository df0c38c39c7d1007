#include <headrace/engine/error.h>
#include <headrace/loaders/memory/detail/table_gather.h>

namespace headrace::inline v1::detail {

void gather_on_device(const TableGather&, void*) {
  throw DeviceError(
      "[gather] a batch in device memory needs the device code, which this build leaves out; build "
      "with HEADRACE_CUDA=ON, or keep the table on the CPU");
}

}  // namespace headrace::inline v1::detail
