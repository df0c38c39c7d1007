#include "stand_in_state.h"

#include <functional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include <unistd.h>

namespace headrace::test::device {

State& state() {
  static auto* one = new State();
  return *one;
}

ThreadState& thread_state() {
  thread_local ThreadState one;
  return one;
}

void Event::reach(std::int64_t version) {
  {
    std::lock_guard lock(mutex);
    reached.insert(version);
    when = std::chrono::steady_clock::now();
  }
  changed.notify_all();
}

void Event::await(std::int64_t version) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return version == 0 || reached.contains(version); });
}

cudaError_t answer(cudaError_t status) {
  if (status != cudaSuccess) thread_state().last_error = status;
  return status;
}

cudaError_t enter(const char* name) {
  State& s = state();
  if (s.forbidden.load()) ::_exit(3);
  std::lock_guard lock(s.mutex);
  if (thread_state().in_callback) {
    ++s.counts.in_callbacks;
    return answer(cudaErrorNotPermitted);
  }
  if (s.behaviour.refuse != name) return cudaSuccess;
  const int number = s.seen[name]++;
  const bool refused = number >= s.behaviour.refuse_after &&
                       number < s.behaviour.refuse_after + s.behaviour.refuse_times;
  return refused ? answer(cudaErrorUnknown) : cudaSuccess;
}

cudaError_t enter_working(const char* name) {
  const cudaError_t status = enter(name);
  return status == cudaSuccess && state().failed ? answer(cudaErrorLaunchFailure) : status;
}

cudaError_t enter_unsafe(const char* name) {
  if (const cudaError_t status = enter(name); status != cudaSuccess) return status;
  if (thread_state().mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  {
    std::lock_guard lock(state().mutex);
    if (state().capturing == nullptr) return cudaSuccess;
  }
  return spoil(cudaErrorStreamCaptureUnsupported);
}

int use_current_device() {
  const int device = thread_state().current();
  thread_state().set(device);
  std::lock_guard lock(state().mutex);
  state().contexts.insert(device);
  return device;
}

cudaError_t spoil(cudaError_t status) {
  std::lock_guard lock(state().mutex);
  state().capture_whole = false;
  return answer(status);
}

bool is_page_locked(const void* memory, std::size_t bytes) {
  std::lock_guard lock(state().mutex);
  const auto& locked = state().page_locked;
  auto after = locked.upper_bound(memory);
  if (after == locked.begin()) return false;
  --after;
  return static_cast<const char*>(memory) + bytes <=
         static_cast<const char*>(after->first) + after->second;
}

int copy_delay() {
  thread_local std::minstd_rand random(
      static_cast<unsigned>(std::hash<std::thread::id>()(std::this_thread::get_id())));
  std::lock_guard lock(state().mutex);
  const int most = state().behaviour.copy_delay_us;
  const int drawn = most == 0 ? 0 : static_cast<int>(random() % static_cast<unsigned>(most));
  return state().behaviour.copy_least_us + drawn;
}

Queue& queue_of(cudaStream_t stream) {
  static auto* default_queue = new Queue();
  return stream == nullptr ? *default_queue : *reinterpret_cast<Queue*>(stream);
}

SharedEvent& event_of(cudaEvent_t event) {
  return *reinterpret_cast<SharedEvent*>(event);
}

void reset(Behaviour wanted) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.behaviour = std::move(wanted);
  s.counts = {.page_locks = s.counts.page_locks,
              .live_allocations = s.counts.live_allocations,
              .live_streams = s.counts.live_streams,
              .live_events = s.counts.live_events};
  s.seen.clear();
  s.contexts.clear();
  s.failed = false;
  thread_state().mode = cudaStreamCaptureModeGlobal;  // a refused call may have left another
}

Calls calls() {
  std::lock_guard lock(state().mutex);
  return state().counts;
}

std::set<int> contexts() {
  std::lock_guard lock(state().mutex);
  return state().contexts;
}

TrainerStream::TrainerStream(int device) : handle_(new Queue(device)) {}
TrainerStream::~TrainerStream() {
  delete static_cast<Queue*>(handle_);
}
void TrainerStream::run(std::function<void()> kernel) {
  static_cast<Queue*>(handle_)->push(std::move(kernel));
}
void TrainerStream::call(std::function<void()> callback) {
  static_cast<Queue*>(handle_)->push([callback = std::move(callback)]() mutable {
    thread_state().in_callback = true;
    callback();
    callback = nullptr;
    thread_state().in_callback = false;
  });
}
void TrainerStream::finish() {
  static_cast<Queue*>(handle_)->finish();
}

Capture::Capture(const TrainerStream& stream)
    : queue_(static_cast<headrace::Stream>(stream).handle) {
  std::lock_guard lock(state().mutex);
  state().capturing = static_cast<Queue*>(queue_);
  state().capture_whole = true;
}
Capture::~Capture() {
  end();
}
bool Capture::end() {
  std::lock_guard lock(state().mutex);
  state().capturing = nullptr;
  return state().capture_whole;
}

void unsafe_call() {
  if (enter_unsafe("unsafe_call") != cudaSuccess) throw std::runtime_error("refused");
}
void leave_error() {
  answer(cudaErrorNotReady);
}
int last_error() {
  return cudaGetLastError();
}
void run_on(headrace::Stream stream, std::function<void()> kernel) {
  queue_of(static_cast<cudaStream_t>(stream.handle)).push(std::move(kernel));
}

int current() {
  return thread_state().current();
}
void make_current(int number) {
  thread_state().set(number);
  std::lock_guard lock(state().mutex);
  state().contexts.insert(number);
}
bool in_callback() {
  return thread_state().in_callback;
}
void forbid_calls() {
  state().forbidden = true;
}

}  // namespace headrace::test::device
