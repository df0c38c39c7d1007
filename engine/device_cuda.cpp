#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include <headrace/engine/detail/device_objects.h>
#include <headrace/engine/error.h>

namespace headrace::inline v1::detail {

namespace {

std::atomic<bool> process_is_ending{false};

/// Handlers registered later run earlier: this one before those of the CUDA runtime.
void watch_for_end() {
  static std::once_flag once;
  std::call_once(
      once, [] { std::atexit([] { process_is_ending.store(true, std::memory_order_relaxed); }); });
}

bool ending() noexcept {
  return process_is_ending.load(std::memory_order_relaxed);
}

/// Clears the error that the runtime keeps for the thread, unless the device is lost for good.
void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw DeviceError(std::string("[transfer] ") + what +
                    " failed, the CUDA runtime answers: " + cudaGetErrorString(status));
}

cudaStream_t stream_of(Stream stream) noexcept {
  return static_cast<cudaStream_t>(stream.handle);
}
cudaEvent_t event_of(const DeviceEvent& event) noexcept {
  return static_cast<cudaEvent_t>(event.get());
}

nvtxDomainHandle_t domain() noexcept {
  static nvtxDomainHandle_t ours = nvtxDomainCreateA("headrace");
  return ours;
}

}  // namespace

void require_device(Device device, const std::string& who) {
  if (!device.is_cuda()) return;
  const std::string asked = "[" + who + "] " + to_string(device) + " was asked for, ";
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();
    throw DeviceError(asked + "the CUDA runtime answers: " + cudaGetErrorString(status) +
                      "; install a driver, or deliver to the CPU");
  }
  if (device.index < 0 || device.index >= count) {
    throw DeviceError(asked + "this machine has " + std::to_string(count) +
                      " device(s); name one of them");
  }
}

DeviceScope::DeviceScope(Device device) {
  if (ending()) return;
  int current = 0;
  check(cudaGetDevice(&current), "asking for the current device");
  if (current == device.index) return;
  check(cudaSetDevice(device.index), "choosing the device");
  before_ = current;
}

DeviceScope::~DeviceScope() {
  if (before_ >= 0 && !ending()) cudaSetDevice(before_);
}

void FreeDeviceMemory::operator()(std::byte* memory) const noexcept {
  if (!ending()) cudaFree(memory);
}
void UnlockPages::operator()(std::byte* memory) const noexcept {
  if (!ending()) cudaHostUnregister(memory);
}
void DestroyStream::operator()(void* stream) const noexcept {
  if (!ending()) cudaStreamDestroy(static_cast<cudaStream_t>(stream));
}
void DestroyEvent::operator()(void* event) const noexcept {
  if (!ending()) cudaEventDestroy(static_cast<cudaEvent_t>(event));
}

DeviceMemory allocate_on_device(std::size_t bytes) {
  if (ending()) throw DeviceError("[transfer] the process is ending");
  watch_for_end();
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free = 0;
    std::size_t all = 0;
    cudaMemGetInfo(&free, &all);
    throw ResourceError("[transfer] " + std::to_string(bytes) +
                        " bytes of device memory are needed, " + std::to_string(free) + " of " +
                        std::to_string(all) + " are free; lower the batch size or loans");
  }
  check(status, "allocating device memory");
  return DeviceMemory(static_cast<std::byte*>(memory));
}

std::size_t free_device_bytes(Device device) {
  watch_for_end();
  const DeviceScope scope(device);
  std::size_t free = 0;
  std::size_t all = 0;
  check(cudaMemGetInfo(&free, &all), "asking for the device's free memory");
  return free;
}

PageLock lock_pages(std::byte* memory, std::size_t bytes, std::string& refusal) {
  watch_for_end();
  const cudaError_t status = cudaHostRegister(memory, bytes, cudaHostRegisterDefault);
  if (status == cudaSuccess) return PageLock(memory);
  cudaGetLastError();
  refusal = cudaGetErrorString(status);
  return {};
}

DeviceStream make_stream(bool urgent) {
  watch_for_end();
  int least = 0;
  int greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for stream priorities");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, urgent ? greatest : least),
        "making a stream");
  return DeviceStream(stream);
}

DeviceEvent make_event(bool timed) {
  if (ending()) throw DeviceError("[transfer] the process is ending");
  watch_for_end();
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming),
        "making an event");
  return DeviceEvent(event);
}

DeviceEvent make_awaited_event() {
  if (ending()) throw DeviceError("[transfer] the process is ending");
  watch_for_end();
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
        "making an event");
  return DeviceEvent(event);
}

void record(const DeviceEvent& event, Stream on) {
  if (ending()) return;
  check(cudaEventRecord(event_of(event), stream_of(on)), "recording an event");
}

void wait_for(const DeviceEvent& event, Stream on) {
  if (ending()) return;
  check(cudaStreamWaitEvent(stream_of(on), event_of(event), 0), "making a stream wait");
}

void copy_to_device(std::byte* to, const std::byte* from, std::size_t bytes, Stream on) {
  if (ending()) return;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_of(on)),
        "copying to the device");
}

void copy_rows_to_host(std::byte* to, const std::byte* from, std::size_t stride,
                       std::size_t row_bytes, std::size_t rows, Stream on) {
  if (ending()) return;
  check(cudaMemcpy2DAsync(to, row_bytes, from, stride, row_bytes, rows, cudaMemcpyDeviceToHost,
                          stream_of(on)),
        "copying from the device");
}

void call_when_reached(Stream on, void (*function)(void*), void* argument) {
  if (ending()) return;
  check(cudaLaunchHostFunc(stream_of(on), function, argument), "queueing a call");
}

void drain(Stream stream) noexcept {
  if (ending()) return;
  cudaStreamSynchronize(stream_of(stream));
  cudaGetLastError();
}

void drain(const DeviceEvent& event) noexcept {
  if (ending()) return;
  cudaEventSynchronize(event_of(event));
  cudaGetLastError();
}

void await(const DeviceEvent& event) {
  if (ending()) return;
  check(cudaEventSynchronize(event_of(event)), "waiting for the device");
}

std::optional<double> seconds_between(const DeviceEvent& from, const DeviceEvent& to) noexcept {
  float milliseconds = 0;
  if (ending()) return std::nullopt;
  if (cudaEventElapsedTime(&milliseconds, event_of(from), event_of(to)) != cudaSuccess) {
    cudaGetLastError();
    return std::nullopt;
  }
  return static_cast<double>(milliseconds) * 1e-3;
}

void require_health(Stream stream) {
  if (ending()) return;
  const cudaError_t status = cudaStreamQuery(stream_of(stream));
  if (status == cudaErrorNotReady) return;
  check(status, "the device");
}

bool is_process_ending() noexcept {
  return ending();
}

TraceRange::TraceRange(const std::string& name) noexcept {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name.c_str();
  nvtxDomainRangePushEx(domain(), &attributes);
}
TraceRange::~TraceRange() {
  nvtxDomainRangePop(domain());
}

}  // namespace headrace::inline v1::detail
