#include "cuda_stand_in.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include <headrace/tests/transfer/stand_in_queue.h>

namespace {

using headrace::test::device::Behaviour;
using headrace::test::device::Calls;
using headrace::test::device::Queue;

std::mutex state_mutex;
Behaviour behaviour;
Calls counts;
std::map<void*, std::size_t> allocations;
std::atomic<bool> failed{false};
std::atomic<bool> forbidden{false};
thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t answer(cudaError_t status) {
  if (status != cudaSuccess) last_error = status;
  return status;
}

void enter() {
  if (forbidden.load()) ::_exit(3);
}

struct Event {
  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t recorded = 0;  ///< calls of record
  std::int64_t reached = 0;   ///< of those, done
  std::chrono::steady_clock::time_point when;
  bool timed = false;

  void reach(std::int64_t version) {
    {
      std::lock_guard lock(mutex);
      reached = version;
      when = std::chrono::steady_clock::now();
    }
    changed.notify_all();
  }
  void await(std::int64_t version) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return reached >= version; });
  }
};

using SharedEvent = std::shared_ptr<Event>;

Queue& default_queue() {
  static auto* queue = new Queue();
  return *queue;
}

Queue& queue_of(cudaStream_t stream) {
  return stream == nullptr ? default_queue() : *reinterpret_cast<Queue*>(stream);
}

SharedEvent& event_of(cudaEvent_t event) {
  return *reinterpret_cast<SharedEvent*>(event);
}

int delay_us() {
  thread_local std::minstd_rand random(
      static_cast<unsigned>(std::hash<std::thread::id>()(std::this_thread::get_id())));
  std::lock_guard lock(state_mutex);
  return behaviour.copy_delay_us == 0
             ? 0
             : static_cast<int>(random() % static_cast<unsigned>(behaviour.copy_delay_us));
}

}  // namespace

namespace headrace::test::device {

void reset(Behaviour wanted) {
  std::lock_guard lock(state_mutex);
  behaviour = wanted;
  counts = {.live_allocations = counts.live_allocations,
            .live_streams = counts.live_streams,
            .live_events = counts.live_events};
  failed = false;
}

Calls calls() {
  std::lock_guard lock(state_mutex);
  return counts;
}

TrainerStream::TrainerStream() : handle_(new Queue()) {}
TrainerStream::~TrainerStream() {
  delete static_cast<Queue*>(handle_);
}
void TrainerStream::run(std::function<void()> kernel) {
  static_cast<Queue*>(handle_)->push(std::move(kernel));
}
void TrainerStream::finish() {
  static_cast<Queue*>(handle_)->finish();
}

void run_on(headrace::Stream stream, std::function<void()> kernel) {
  queue_of(static_cast<cudaStream_t>(stream.handle)).push(std::move(kernel));
}

int current() {
  return current_device;
}
void make_current(int number) {
  current_device = number;
}
void forbid_calls() {
  forbidden = true;
}

}  // namespace headrace::test::device

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  enter();
  std::lock_guard lock(state_mutex);
  *count = behaviour.devices;
  return answer(behaviour.devices > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int* number) {
  enter();
  *number = current_device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int number) {
  enter();
  current_device = number;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}

const char* cudaGetErrorString(cudaError_t) {
  return "an error of the stand-in";
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  std::lock_guard lock(state_mutex);
  *free = *all = behaviour.free_bytes;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  enter();
  if (bytes > (std::size_t{1} << 40)) return answer(cudaErrorMemoryAllocation);
  *memory = ::operator new(bytes, std::align_val_t(256));
  std::memset(*memory, 0xEE, bytes);
  std::lock_guard lock(state_mutex);
  allocations[*memory] = bytes;
  ++counts.allocations;
  ++counts.live_allocations;
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  enter();
  if (memory == nullptr) return cudaSuccess;
  {
    std::lock_guard lock(state_mutex);
    std::memset(memory, 0xDD, allocations.at(memory));
    allocations.erase(memory);
    --counts.live_allocations;
  }
  ::operator delete(memory, std::align_val_t(256));
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void*, std::size_t, unsigned) {
  enter();
  std::lock_guard lock(state_mutex);
  if (behaviour.refuse_page_locks) return answer(cudaErrorMemoryAllocation);
  ++counts.page_locks;
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void*) {
  enter();
  std::lock_guard lock(state_mutex);
  --counts.page_locks;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  enter();
  *stream = reinterpret_cast<cudaStream_t>(new Queue());
  std::lock_guard lock(state_mutex);
  ++counts.live_streams;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  enter();
  delete reinterpret_cast<Queue*>(stream);
  std::lock_guard lock(state_mutex);
  --counts.live_streams;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  enter();
  {
    std::lock_guard lock(state_mutex);
    ++counts.synchronisations;
  }
  queue_of(stream).finish();
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  enter();
  if (failed) return answer(cudaErrorLaunchFailure);
  return queue_of(stream).idle() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  enter();
  auto made = std::make_shared<Event>();
  made->timed = (flags & cudaEventDisableTiming) == 0;
  *event = reinterpret_cast<cudaEvent_t>(new SharedEvent(std::move(made)));
  std::lock_guard lock(state_mutex);
  ++counts.live_events;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  enter();
  delete &event_of(event);
  std::lock_guard lock(state_mutex);
  --counts.live_events;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  enter();
  if (failed) return answer(cudaErrorLaunchFailure);
  SharedEvent shared = event_of(event);
  std::int64_t version = 0;
  {
    std::lock_guard lock(shared->mutex);
    version = ++shared->recorded;
  }
  queue_of(stream).push([shared, version] { shared->reach(version); });
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  enter();
  if (failed) return answer(cudaErrorLaunchFailure);
  if (stream == nullptr) {
    std::lock_guard lock(state_mutex);
    if (behaviour.refuse_waits-- > 0) return answer(cudaErrorInvalidResourceHandle);
  }
  SharedEvent shared = event_of(event);
  std::int64_t version = 0;
  {
    std::lock_guard lock(shared->mutex);
    version = shared->recorded;
  }
  queue_of(stream).push([shared, version] { shared->await(version); });
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  enter();
  if (failed) return answer(cudaErrorLaunchFailure);
  SharedEvent shared = event_of(event);
  std::int64_t version = 0;
  {
    std::scoped_lock lock(shared->mutex, state_mutex);
    version = shared->recorded;
    ++counts.synchronisations;
  }
  shared->await(version);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  enter();
  std::scoped_lock lock(event_of(from)->mutex, event_of(to)->mutex);
  const Event& first = *event_of(from);
  const Event& last = *event_of(to);
  if (!first.timed || !last.timed) return answer(cudaErrorInvalidResourceHandle);
  if (first.reached < first.recorded || last.reached < last.recorded)
    return answer(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(last.when - first.when).count();
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t row, std::size_t rows,
                              cudaMemcpyKind, cudaStream_t stream) {
  enter();
  {
    std::lock_guard lock(state_mutex);
    if (counts.copies++ == behaviour.fail_copy) failed = true;
  }
  if (failed) return answer(cudaErrorLaunchFailure);
  const int delay = delay_us();
  queue_of(stream).push([=] {
    std::this_thread::sleep_for(std::chrono::microseconds(delay));
    for (std::size_t y = 0; y < rows; ++y)
      std::memcpy(static_cast<char*>(to) + to_pitch * y,
                  static_cast<const char*>(from) + from_pitch * y, row);
  });
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  enter();
  if (failed) return answer(cudaErrorLaunchFailure);
  queue_of(stream).push([=] { function(argument); });
  return cudaSuccess;
}

}  // extern "C"
