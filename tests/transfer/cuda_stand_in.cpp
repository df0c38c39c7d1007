// The stand-in's form of the CUDA runtime: devices, streams and events. Memory and copies are in
// cuda_memory_stand_in.cpp.
#include "stand_in_state.h"

#include <utility>

using namespace headrace::test::device;

namespace {

/// Stands in for a context of the driver: the number of its device, and one.
void* context_of(int device) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(device) + 1);
}

int retain_primary(void** context, int device) {
  if (const cudaError_t status = enter("cuDevicePrimaryCtxRetain"); status != cudaSuccess)
    return status;
  std::lock_guard lock(state().mutex);
  state().contexts.insert(device);
  *context = context_of(device);
  return 0;
}

int push_context(void* context) {
  if (const cudaError_t status = enter("cuCtxPushCurrent"); status != cudaSuccess) return status;
  thread_state().push(static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1);
  return 0;
}

int pop_context(void** context) {
  if (const cudaError_t status = enter("cuCtxPopCurrent"); status != cudaSuccess) return status;
  ThreadState& thread = thread_state();
  if (thread.depth == 0) return cudaErrorDeviceUninitialized;
  *context = context_of(thread.current());
  --thread.depth;
  return 0;
}

bool is_being_captured(Queue& queue) {
  std::lock_guard lock(state().mutex);
  return state().capturing == &queue;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  if (const cudaError_t status = enter("cudaGetDeviceCount"); status != cudaSuccess) return status;
  std::lock_guard lock(state().mutex);
  *count = state().behaviour.devices;
  return answer(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* number) {
  if (const cudaError_t status = enter("cudaGetDevice"); status != cudaSuccess) return status;
  *number = current();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int number) {
  if (const cudaError_t status = enter("cudaSetDevice"); status != cudaSuccess) return status;
  thread_state().set(number);
  use_current_device();  // since CUDA 12 this makes the context
  return cudaSuccess;
}

#if CUDART_VERSION >= 12050
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
#else
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* result) {
#endif
  if (const cudaError_t status = enter("cudaGetDriverEntryPoint"); status != cudaSuccess)
    return status;
  const std::map<std::string, void*> known{
      {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(&retain_primary)},
      {"cuCtxPushCurrent", reinterpret_cast<void*>(&push_context)},
      {"cuCtxPopCurrent", reinterpret_cast<void*>(&pop_context)}};
  const auto found = known.find(name);
  *function = found == known.end() ? nullptr : found->second;
  if (result != nullptr) *result = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (const cudaError_t status = enter("cudaThreadExchangeStreamCaptureMode");
      status != cudaSuccess)
    return status;
  std::swap(*mode, thread_state().mode);
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return std::exchange(thread_state().last_error, cudaSuccess);
}

const char* cudaGetErrorString(cudaError_t) {
  return "an error of the stand-in";
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (const cudaError_t status = enter("cudaDeviceGetStreamPriorityRange"); status != cudaSuccess)
    return status;
  use_current_device();
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  if (const cudaError_t status = enter("cudaStreamCreateWithPriority"); status != cudaSuccess)
    return status;
  *stream = reinterpret_cast<cudaStream_t>(new Queue(use_current_device()));
  std::lock_guard lock(state().mutex);
  ++state().counts.live_streams;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (const cudaError_t status = enter("cudaStreamDestroy"); status != cudaSuccess) return status;
  use_current_device();
  delete reinterpret_cast<Queue*>(stream);
  std::lock_guard lock(state().mutex);
  --state().counts.live_streams;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (const cudaError_t status = enter_unsafe("cudaStreamSynchronize"); status != cudaSuccess)
    return status;
  use_current_device();
  if (is_being_captured(queue_of(stream))) return spoil(cudaErrorStreamCaptureUnsupported);
  {
    std::lock_guard lock(state().mutex);
    ++state().counts.synchronisations;
  }
  queue_of(stream).finish();
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (const cudaError_t status = enter_unsafe("cudaStreamQuery"); status != cudaSuccess)
    return status;
  use_current_device();
  if (is_being_captured(queue_of(stream))) return spoil(cudaErrorStreamCaptureUnsupported);
  if (state().failed) return answer(cudaErrorLaunchFailure);
  return queue_of(stream).idle() ? cudaSuccess : answer(cudaErrorNotReady);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (const cudaError_t failed = enter("cudaStreamIsCapturing"); failed != cudaSuccess)
    return failed;
  use_current_device();
  *status = is_being_captured(queue_of(stream)) ? cudaStreamCaptureStatusActive
                                                : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (const cudaError_t status = enter("cudaEventCreateWithFlags"); status != cudaSuccess)
    return status;
  auto made = std::make_shared<Event>();
  made->device = use_current_device();
  made->timed = (flags & cudaEventDisableTiming) == 0;
  *event = reinterpret_cast<cudaEvent_t>(new SharedEvent(std::move(made)));
  std::lock_guard lock(state().mutex);
  ++state().counts.live_events;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (const cudaError_t status = enter("cudaEventDestroy"); status != cudaSuccess) return status;
  use_current_device();
  delete &event_of(event);
  std::lock_guard lock(state().mutex);
  --state().counts.live_events;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (const cudaError_t status = enter_working("cudaEventRecord"); status != cudaSuccess)
    return status;
  const int device = use_current_device();
  SharedEvent shared = event_of(event);
  Queue& queue = queue_of(stream);
  if (shared->device != (stream == nullptr ? device : queue.device()))
    return answer(cudaErrorInvalidResourceHandle);
  const bool captured = is_being_captured(queue);
  std::int64_t version = 0;
  {
    std::lock_guard lock(shared->mutex);
    shared->captured = captured;
    version = ++shared->recorded;
  }
  if (!captured) queue.push([shared, version] { shared->reach(version); });
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (const cudaError_t status = enter_working("cudaStreamWaitEvent"); status != cudaSuccess)
    return status;
  use_current_device();
  if (stream == nullptr) {
    std::lock_guard lock(state().mutex);
    if (state().behaviour.refuse_waits-- > 0) return answer(cudaErrorInvalidResourceHandle);
  }
  SharedEvent shared = event_of(event);
  std::int64_t version = 0;
  bool captured = false;
  {
    std::lock_guard lock(shared->mutex);
    version = shared->recorded;
    captured = shared->captured;
  }
  // A wait of either side for the other would pull work from outside into the graph.
  if (captured != is_being_captured(queue_of(stream)))
    return spoil(cudaErrorStreamCaptureIsolation);
  if (!captured) queue_of(stream).push([shared, version] { shared->await(version); });
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const cudaError_t status = enter_unsafe("cudaEventSynchronize"); status != cudaSuccess)
    return status;
  use_current_device();
  if (state().failed) return answer(cudaErrorLaunchFailure);
  SharedEvent shared = event_of(event);
  std::int64_t version = 0;
  {
    std::scoped_lock lock(shared->mutex, state().mutex);
    version = shared->recorded;
    ++state().counts.synchronisations;
  }
  shared->await(version);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t status = enter_unsafe("cudaEventQuery"); status != cudaSuccess)
    return status;
  use_current_device();
  if (state().failed) return answer(cudaErrorLaunchFailure);
  const SharedEvent shared = event_of(event);
  std::lock_guard lock(shared->mutex);
  const bool come = shared->recorded == 0 || shared->reached.contains(shared->recorded);
  return come ? cudaSuccess : answer(cudaErrorNotReady);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  if (const cudaError_t status = enter_unsafe("cudaEventElapsedTime"); status != cudaSuccess)
    return status;
  use_current_device();
  std::scoped_lock lock(event_of(from)->mutex, event_of(to)->mutex);
  const Event& first = *event_of(from);
  const Event& last = *event_of(to);
  if (!first.timed || !last.timed) return answer(cudaErrorInvalidResourceHandle);
  if (!first.reached.contains(first.recorded) || !last.reached.contains(last.recorded))
    return answer(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(last.when - first.when).count();
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  if (const cudaError_t status = enter_working("cudaLaunchHostFunc"); status != cudaSuccess)
    return status;
  use_current_device();
  queue_of(stream).push([=] {
    std::function<void()> watch;
    {
      std::lock_guard lock(state().mutex);
      watch = state().behaviour.on_callback;
    }
    thread_state().in_callback = true;
    if (watch) watch();
    function(argument);
    thread_state().in_callback = false;
  });
  return cudaSuccess;
}

}  // extern "C"
