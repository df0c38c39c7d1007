#include <headrace/engine/base/error.h>
#include <headrace/engine/device/detail/device_module.h>
#include <headrace/engine/device/device_runtime.h>
#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/engine/device/internal/kernel.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include <sys/mman.h>

namespace headrace::inline v1::detail {

namespace {

std::atomic<bool> process_is_ending{false};

bool ending() noexcept {
  return process_is_ending.load(std::memory_order_relaxed);
}

const DeviceApi* find_api() {
  using Get = const DeviceApi* (*)();
  const DeviceApi* found = reinterpret_cast<Get>(device_function("headrace_device_api"))();
  if (found->version != DeviceApi::current_version) {
    throw DeviceError("[device] the device module must be of layout " +
                      std::to_string(DeviceApi::current_version) + " as the libraries are, got " +
                      std::to_string(found->version) +
                      "; install the module that came with the libraries");
  }
  return found;
}

const DeviceApi& api() {
  static const DeviceApi* const found = find_api();
  return *found;
}

void check(int status, const char* what) {
  if (status == 0) return;
  api().forget_error();
  throw DeviceError(std::string("[device] ") + what +
                    " failed, the CUDA runtime answers: " + api().text(status));
}

/// Handlers registered later run earlier: this one, which comes with the first use of a device,
/// before those of the CUDA runtime and of loaders that were built before.
void watch_for_end() {
  static std::once_flag once;
  std::call_once(
      once, [] { std::atexit([] { process_is_ending.store(true, std::memory_order_relaxed); }); });
}

void require_running_process() {
  if (ending()) throw DeviceError("[device] the process is ending");
}

/// For destructors: inside the device where it can still be used.
template <class Work>
void quietly_on(int device, Work work) noexcept {
  if (ending()) return;
  DeviceVisit visit;
  if (api().enter(device, &visit) != 0) return api().forget_error();
  if (work() != 0) api().forget_error();
  api().leave(&visit);
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Why the runtime finds no device.
std::string obstacle(int status) {
  int runtime = 0;
  int driver = 0;
  if (api().versions(&runtime, &driver) != 0) api().forget_error();
  const std::string answer = std::string("the CUDA runtime answers: ") + api().text(status);
  if (driver == 0) return answer + "; there is no driver: install one, or deliver to the CPU";
  if (driver / 1000 < runtime / 1000) {
    return answer + "; the driver is for CUDA " + version_text(driver) + ", the runtime " +
           version_text(runtime) + " of " + device_runtime() +
           " needs a newer one: install it, or deliver to the CPU";
  }
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
    return answer + "; CUDA_VISIBLE_DEVICES is \"" + visible +
           "\": name a device in it, or deliver to the CPU";
  }
  return answer + "; look at what nvidia-smi says, or deliver to the CPU";
}

DeviceEvent make_event(Device device, bool timed, bool awaited) {
  require_running_process();
  const DeviceScope scope(device);
  void* event = nullptr;
  check(api().make_event(&event, timed, awaited), "making an event");
  return DeviceEvent(event, {device.index});
}

}  // namespace

void require_device(Device device, const std::string& who) {
  if (!device.is_cuda()) return;
  require_running_process();
  const std::string asked = "[" + who + "] " + to_string(device) + " was asked for, ";
  if (const std::string reason = device_module_obstacle(); !reason.empty())
    throw DeviceError(asked + reason);
  int count = 0;
  if (const int status = api().count_devices(&count); status != 0) {
    api().forget_error();
    throw DeviceError(asked + obstacle(status));
  }
  if (device.index < 0 || device.index >= count) {
    throw DeviceError(asked + "this machine has " + std::to_string(count) +
                      " device(s); name one of them");
  }
}

DeviceScope::DeviceScope(Device device) {
  if (ending()) return;
  check(api().enter(device.index, &visit_), "choosing the device");
  entered_ = true;
  watch_for_end();
}

DeviceScope::~DeviceScope() {
  if (entered_ && !ending()) api().leave(&visit_);
}

void FreeDeviceMemory::operator()(std::byte* memory) const noexcept {
  quietly_on(device, [&] { return api().release(memory); });
}
void UnlockPages::operator()(std::byte* memory) const noexcept {
  quietly_on(device, [&] { return api().unlock_pages(memory); });
  if (!ending()) ::madvise(memory, bytes, MADV_DOFORK);
}
void DestroyStream::operator()(void* stream) const noexcept {
  quietly_on(device, [&] { return api().destroy_stream(stream); });
}
void DestroyEvent::operator()(void* event) const noexcept {
  quietly_on(device, [&] { return api().destroy_event(event); });
}

DeviceMemory allocate_on_device(Device device, std::size_t bytes) {
  require_running_process();
  const DeviceScope scope(device);
  void* memory = nullptr;
  const int status = api().allocate(&memory, bytes);
  if (status == api().no_memory) {
    api().forget_error();
    std::size_t free = 0;
    std::size_t all = 0;
    if (api().free_bytes(&free, &all) != 0) api().forget_error();
    throw ResourceError("[device] " + std::to_string(bytes) +
                        " bytes of device memory are needed, " + std::to_string(free) + " of " +
                        std::to_string(all) +
                        " are free; lower the batch size or loans, or keep tables elsewhere");
  }
  check(status, "allocating device memory");
  return DeviceMemory(static_cast<std::byte*>(memory), {device.index});
}

namespace {

struct DeviceBytes {
  std::size_t free = 0;
  std::size_t all = 0;
};

DeviceBytes bytes_of(Device device) {
  require_running_process();
  const DeviceScope scope(device);
  DeviceBytes bytes;
  check(api().free_bytes(&bytes.free, &bytes.all), "asking for the device's memory");
  return bytes;
}

}  // namespace

std::size_t free_device_bytes(Device device) {
  return bytes_of(device).free;
}

std::size_t all_device_bytes(Device device) {
  return bytes_of(device).all;
}

PageLock lock_pages(Device device, std::byte* memory, std::size_t bytes, std::string& refusal) {
  require_running_process();
  const DeviceScope scope(device);
  const int status = api().lock_pages(memory, bytes);
  if (status == 0) {
    ::madvise(memory, bytes, MADV_DONTFORK);
    return PageLock(memory, {device.index, bytes});
  }
  api().forget_error();
  refusal = api().text(status);
  return {};
}

DeviceStream make_stream(Device device, bool urgent) {
  require_running_process();
  const DeviceScope scope(device);
  void* stream = nullptr;
  check(api().make_stream(&stream, urgent), "making a stream");
  return DeviceStream(stream, {device.index});
}

DeviceEvent make_event(Device device, bool timed) {
  return make_event(device, timed, false);
}
DeviceEvent make_awaited_event(Device device) {
  return make_event(device, false, true);
}

void record(const DeviceEvent& event, Stream on) {
  if (ending()) return;
  check(api().record(event.get(), on.handle), "recording an event");
}

void wait_for(const DeviceEvent& event, Stream on) {
  if (ending()) return;
  check(api().wait_for(on.handle, event.get()), "making a stream wait");
}

void copy_to_device(std::byte* to, const std::byte* from, std::size_t bytes, Stream on) {
  if (ending()) return;
  check(api().copy_to_device(to, from, bytes, on.handle), "copying to the device");
}

void copy_rows_to_host(std::byte* to, const std::byte* from, std::size_t stride,
                       std::size_t row_bytes, std::size_t rows, Stream on) {
  if (ending()) return;
  check(api().copy_rows_to_host(to, from, stride, row_bytes, rows, on.handle),
        "copying from the device");
}

void call_when_reached(Stream on, void (*function)(void*), void* argument) {
  if (ending()) return;
  check(api().call_when_reached(on.handle, function, argument), "queueing a call");
}

void drain(Stream stream) noexcept {
  if (!ending() && api().drain_stream(stream.handle) != 0) api().forget_error();
}

void drain(const DeviceEvent& event) noexcept {
  if (!ending() && api().await(event.get()) != 0) api().forget_error();
}

void await(const DeviceEvent& event) {
  if (ending()) return;
  check(api().await(event.get()), "waiting for the device");
}

void await(Stream stream) {
  if (ending()) return;
  check(api().drain_stream(stream.handle), "waiting for the device");
}

bool has_come(const DeviceEvent& event) {
  if (ending()) return true;
  const int status = api().query_event(event.get());
  if (status != api().not_ready) {
    check(status, "the device");
    return true;
  }
  api().forget_error();
  return false;
}

std::optional<double> seconds_between(const DeviceEvent& from, const DeviceEvent& to) noexcept {
  float milliseconds = 0;
  if (ending()) return std::nullopt;
  if (api().milliseconds_between(&milliseconds, from.get(), to.get()) != 0) {
    api().forget_error();
    return std::nullopt;
  }
  return static_cast<double>(milliseconds) * 1e-3;
}

void require_health(Stream stream) {
  if (ending()) return;
  const int status = api().query_stream(stream.handle);
  if (status == api().not_ready) return api().forget_error();
  check(status, "the device");
}

bool is_capturing(Stream stream) {
  bool capturing = false;
  if (!ending()) check(api().is_capturing(stream.handle, &capturing), "asking for a capture");
  return capturing;
}

bool is_process_ending() noexcept {
  return ending();
}

void launch(const Kernel& kernel, const void* task, Device device, Stream stream) {
  using Function = int (*)(const void*, void*);
  if (ending()) return;
  const auto function = reinterpret_cast<Function>(device_function(kernel.function));
  const DeviceScope scope(device);
  api().forget_error();  // of others on this thread: a kernel's own is what is asked for
  const int status = function(task, stream.handle);
  if (status == 0) return;
  const char* cure = status == api().no_kernel
                         ? "; the device module must be built for this GPU, see "
                           "HEADRACE_DEVICE_ARCHITECTURES, or let the step run on the CPU"
                         : "";
  throw DeviceError(std::string("[") + kernel.who + "] the kernel cannot be launched on " +
                    to_string(device) + ": " + api().text(status) + cure);
}

}  // namespace headrace::inline v1::detail
