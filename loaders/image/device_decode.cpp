#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/loaders/image/detail/nvjpeg/nvjpeg_handle.h>
#include <headrace/loaders/image/device_decode.h>

#include <atomic>

namespace headrace::inline v1 {
namespace {

std::atomic<std::int64_t> decoded_on_device{0};
std::atomic<std::int64_t> decoded_on_cpu{0};

}  // namespace

void require_device_decoder(Device device, const std::string& who) {
  detail::require_device(device, who);
  detail::require_nvjpeg(who);
}

std::string device_decoder(Device device) {
  require_device_decoder(device, "decode");
  return detail::nvjpeg_handle(device)->description;
}

DeviceDecodes device_decodes() noexcept {
  return {decoded_on_device.load(std::memory_order_relaxed),
          decoded_on_cpu.load(std::memory_order_relaxed)};
}

void detail::count_device_decodes(DeviceDecodes more) noexcept {
  decoded_on_device.fetch_add(more.on_device, std::memory_order_relaxed);
  decoded_on_cpu.fetch_add(more.on_cpu, std::memory_order_relaxed);
}

}  // namespace headrace::inline v1
