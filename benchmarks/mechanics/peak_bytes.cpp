#include <headrace/benchmarks/mechanics/peak_bytes.h>
#include <headrace/tests/models/host_bytes.h>

#include <c10/core/CachingDeviceAllocator.h>

namespace headrace::inline v1::bench {

double peak_bytes(c10::Device device, const std::function<void()>& work) {
  if (device.is_cpu()) return test::peak_of(work);
  constexpr auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  c10::DeviceAllocator& allocator = *c10::getDeviceAllocator(device.type());
  allocator.resetPeakStats(device.index());
  const auto before = allocator.getDeviceStats(device.index()).allocated_bytes[all].current;
  work();
  const auto most = allocator.getDeviceStats(device.index()).allocated_bytes[all].peak;
  return static_cast<double>(most - before);
}

}  // namespace headrace::inline v1::bench
