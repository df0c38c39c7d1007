// The device module's side of the engine: CUDA's calls, nothing decided. Built with CUDA's headers
// and with nothing of the engine's, so that the module links the CUDA runtime alone.
#include <headrace/engine/base/export.h>
#include <headrace/engine/device/internal/device_api.h>

#include <array>
#include <atomic>
#include <mutex>

#include <cuda_runtime_api.h>

namespace headrace::inline v1::detail {

namespace {

cudaStream_t stream_of(void* stream) noexcept {
  return static_cast<cudaStream_t>(stream);
}
cudaEvent_t event_of(void* event) noexcept {
  return static_cast<cudaEvent_t>(event);
}

/// The driver's calls on contexts: the runtime can neither keep a thread without a context nor give
/// one back without making that of device 0.
struct Contexts {
  int (*retain)(void** context, int device) = nullptr;
  int (*push)(void* context) = nullptr;
  int (*pop)(void** context) = nullptr;
};

template <class Function>
cudaError_t find(const char* name, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult answer{};
#if CUDART_VERSION >= 12050
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &answer);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &answer);
#endif
  if (status != cudaSuccess) return status;
  function = reinterpret_cast<Function>(found);
  return function != nullptr ? cudaSuccess : cudaErrorInsufficientDriver;
}

struct FoundContexts {
  Contexts calls;
  cudaError_t status = find("cuDevicePrimaryCtxRetain", calls.retain);

  FoundContexts() {
    if (status == cudaSuccess) status = find("cuCtxPushCurrent", calls.push);
    if (status == cudaSuccess) status = find("cuCtxPopCurrent", calls.pop);
  }
};

const FoundContexts& contexts() {
  static const FoundContexts found;
  return found;
}

constexpr std::size_t most_devices = 64;

/// Kept for good: a new one would cost a second. Null: not asked for yet.
std::array<std::atomic<void*>, most_devices> primary{};
std::mutex retaining;  // two threads retain once

/// A device's primary context, made if nobody has done so.
cudaError_t primary_context(int device, void*& context) {
  if (device < 0 || device >= static_cast<int>(most_devices)) return cudaErrorInvalidDevice;
  std::atomic<void*>& known = primary[static_cast<std::size_t>(device)];
  context = known.load(std::memory_order_acquire);
  if (context != nullptr) return cudaSuccess;
  if (contexts().status != cudaSuccess) return contexts().status;
  const std::lock_guard lock(retaining);
  context = known.load(std::memory_order_relaxed);
  if (context != nullptr) return cudaSuccess;
  if (const int failed = contexts().calls.retain(&context, device); failed != 0)
    return static_cast<cudaError_t>(failed);
  known.store(context, std::memory_order_release);
  return cudaSuccess;
}

int enter(int device, DeviceVisit* visit) {
  void* context = nullptr;
  if (const cudaError_t status = primary_context(device, context); status != cudaSuccess)
    return status;
  if (const int failed = contexts().calls.push(context); failed != 0) return failed;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  const cudaError_t status = cudaThreadExchangeStreamCaptureMode(&mode);
  visit->capture_mode = mode;
  if (status != cudaSuccess) contexts().calls.pop(&context);
  return status;
}

void leave(const DeviceVisit* visit) {
  auto mode = static_cast<cudaStreamCaptureMode>(visit->capture_mode);
  cudaThreadExchangeStreamCaptureMode(&mode);
  void* context = nullptr;
  contexts().calls.pop(&context);
}

int versions(int* runtime, int* driver) {
  const cudaError_t status = cudaRuntimeGetVersion(runtime);
  return status == cudaSuccess ? cudaDriverGetVersion(driver) : status;
}

int make_stream(void** stream, bool urgent) {
  int least = 0;
  int greatest = 0;
  const cudaError_t status = cudaDeviceGetStreamPriorityRange(&least, &greatest);
  if (status != cudaSuccess) return status;
  cudaStream_t made = nullptr;
  const cudaError_t failed =
      cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, urgent ? greatest : least);
  *stream = made;
  return failed;
}

int is_capturing(void* stream, bool* capturing) {
  cudaStreamCaptureStatus state = cudaStreamCaptureStatusNone;
  const cudaError_t status = cudaStreamIsCapturing(stream_of(stream), &state);
  *capturing = state != cudaStreamCaptureStatusNone;
  return status;
}

int make_event(void** event, bool timed, bool awaited) {
  const unsigned flags =
      (timed ? 0U : cudaEventDisableTiming) | (awaited ? unsigned{cudaEventBlockingSync} : 0U);
  cudaEvent_t made = nullptr;
  const cudaError_t status = cudaEventCreateWithFlags(&made, flags);
  *event = made;
  return status;
}

int copy_to_device(void* to, const void* from, std::size_t bytes, void* stream) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_of(stream));
}

int copy_rows_to_host(void* to, const void* from, std::size_t stride, std::size_t row_bytes,
                      std::size_t rows, void* stream) {
  return cudaMemcpy2DAsync(to, row_bytes, from, stride, row_bytes, rows, cudaMemcpyDeviceToHost,
                           stream_of(stream));
}

constexpr DeviceApi the_api{
    .no_memory = cudaErrorMemoryAllocation,
    .not_ready = cudaErrorNotReady,
    .no_kernel = cudaErrorNoKernelImageForDevice,
    .text = [](int status) { return cudaGetErrorString(static_cast<cudaError_t>(status)); },
    .forget_error = [] { cudaGetLastError(); },
    .versions = versions,
    .count_devices = [](int* count) -> int { return cudaGetDeviceCount(count); },
    .enter = enter,
    .leave = leave,
    .allocate = [](void** memory, std::size_t bytes) -> int { return cudaMalloc(memory, bytes); },
    .release = [](void* memory) -> int { return cudaFree(memory); },
    .free_bytes = [](std::size_t* free, std::size_t* all) -> int {
      return cudaMemGetInfo(free, all);
    },
    .lock_pages = [](void* memory, std::size_t bytes) -> int {
      return cudaHostRegister(memory, bytes, cudaHostRegisterDefault);
    },
    .unlock_pages = [](void* memory) -> int { return cudaHostUnregister(memory); },
    .make_stream = make_stream,
    .destroy_stream = [](void* stream) -> int { return cudaStreamDestroy(stream_of(stream)); },
    .query_stream = [](void* stream) -> int { return cudaStreamQuery(stream_of(stream)); },
    .drain_stream = [](void* stream) -> int { return cudaStreamSynchronize(stream_of(stream)); },
    .is_capturing = is_capturing,
    .make_event = make_event,
    .destroy_event = [](void* event) -> int { return cudaEventDestroy(event_of(event)); },
    .record = [](void* event, void* stream) -> int {
      return cudaEventRecord(event_of(event), stream_of(stream));
    },
    .wait_for = [](void* stream, void* event) -> int {
      return cudaStreamWaitEvent(stream_of(stream), event_of(event), 0);
    },
    .await = [](void* event) -> int { return cudaEventSynchronize(event_of(event)); },
    .query_event = [](void* event) -> int { return cudaEventQuery(event_of(event)); },
    .milliseconds_between = [](float* milliseconds, void* from, void* to) -> int {
      return cudaEventElapsedTime(milliseconds, event_of(from), event_of(to));
    },
    .copy_to_device = copy_to_device,
    .copy_rows_to_host = copy_rows_to_host,
    .call_when_reached = [](void* stream, void (*function)(void*), void* argument) -> int {
      return cudaLaunchHostFunc(stream_of(stream), function, argument);
    },
};

}  // namespace

}  // namespace headrace::inline v1::detail

extern "C" HEADRACE_API const headrace::detail::DeviceApi* headrace_device_api() {
  return &headrace::detail::the_api;
}
