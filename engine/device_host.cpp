#include <headrace/engine/detail/device_objects.h>
#include <headrace/engine/error.h>

namespace headrace::inline v1::detail {

namespace {
[[noreturn]] void refuse() {
  throw DeviceError("[engine] this build has no CUDA; configure with HEADRACE_CUDA=ON");
}
}  // namespace

void require_device(Device device, const std::string& who) {
  if (!device.is_cuda()) return;
  throw DeviceError("[" + who + "] " + to_string(device) +
                    " was asked for, this build has no CUDA; configure with HEADRACE_CUDA=ON, or "
                    "deliver to the CPU");
}

DeviceScope::DeviceScope(Device) {}
DeviceScope::~DeviceScope() = default;

void FreeDeviceMemory::operator()(std::byte*) const noexcept {}
void UnlockPages::operator()(std::byte*) const noexcept {}
void DestroyStream::operator()(void*) const noexcept {}
void DestroyEvent::operator()(void*) const noexcept {}

DeviceMemory allocate_on_device(std::size_t) {
  refuse();
}
std::size_t free_device_bytes(Device) {
  refuse();
}
PageLock lock_pages(std::byte*, std::size_t, std::string&) {
  refuse();
}
DeviceStream make_stream(bool) {
  refuse();
}
DeviceEvent make_event(bool) {
  refuse();
}
DeviceEvent make_awaited_event() {
  refuse();
}
void record(const DeviceEvent&, Stream) {
  refuse();
}
void wait_for(const DeviceEvent&, Stream) {
  refuse();
}
void copy_to_device(std::byte*, const std::byte*, std::size_t, Stream) {
  refuse();
}
void copy_rows_to_host(std::byte*, const std::byte*, std::size_t, std::size_t, std::size_t,
                       Stream) {
  refuse();
}
void call_when_reached(Stream, void (*)(void*), void*) {
  refuse();
}
void drain(Stream) noexcept {}
void drain(const DeviceEvent&) noexcept {}
void await(const DeviceEvent&) {
  refuse();
}
std::optional<double> seconds_between(const DeviceEvent&, const DeviceEvent&) noexcept {
  return std::nullopt;
}
void require_health(Stream) {
  refuse();
}
bool is_process_ending() noexcept {
  return false;
}

TraceRange::TraceRange(const std::string&) noexcept {}
TraceRange::~TraceRange() = default;

}  // namespace headrace::inline v1::detail
