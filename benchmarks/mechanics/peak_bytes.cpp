#include <headrace/benchmarks/mechanics/peak_bytes.h>
#include <headrace/tests/models/host_bytes.h>
#include <headrace/training/memory/tensor_memory.h>

namespace headrace::inline v1::bench {

double peak_bytes(c10::Device device, const std::function<void()>& work) {
  if (device.is_cpu()) return test::peak_of(work);
  training::reset_peak_tensor_memory(device);
  const std::uint64_t before = training::tensor_memory(device).allocated;
  work();
  return static_cast<double>(training::tensor_memory(device).peak - before);
}

}  // namespace headrace::inline v1::bench
