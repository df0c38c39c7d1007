#pragma once

#include "cuda_stand_in.h"
#include "stand_in_queue.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <cuda_runtime_api.h>

namespace headrace::test::device {

/// What the stand-in knows; its own mutex guards all but the atomics.
struct State {
  std::mutex mutex;
  Behaviour behaviour;
  Calls counts;
  std::map<std::string, int> seen;  ///< calls by name, of those that may be refused
  std::map<void*, std::size_t> allocations;
  std::map<const void*, std::size_t> page_locked;
  std::set<int> contexts;
  Queue* capturing = nullptr;
  bool capture_whole = false;
  std::atomic<bool> failed{false};
  std::atomic<bool> forbidden{false};
};
State& state();

/// What CUDA keeps for a thread. Needs no destruction: threads that end still make calls.
struct ThreadState {
  std::array<int, 16> devices{};  ///< of the contexts on its stack
  std::size_t depth = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  cudaError_t last_error = cudaSuccess;
  bool in_callback = false;

  int current() const { return depth == 0 ? 0 : devices[depth - 1]; }
  void push(int device) { devices.at(depth++) = device; }
  void set(int device) {
    if (depth == 0) ++depth;
    devices[depth - 1] = device;
  }
};
ThreadState& thread_state();

struct Event {
  int device = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t recorded = 0;       ///< calls of record
  std::set<std::int64_t> reached;  ///< of those, done: one may overtake another on its own stream
  std::chrono::steady_clock::time_point when;
  bool timed = false;
  bool captured = false;  ///< recorded last into a graph

  void reach(std::int64_t version);
  void await(std::int64_t version);
};
using SharedEvent = std::shared_ptr<Event>;

/// Keeps the status as the thread's last error.
cudaError_t answer(cudaError_t status);
/// What every call begins with: not in callbacks, and refused where the test wants it.
cudaError_t enter(const char* name);
/// As enter(), for calls that fail once the device has.
cudaError_t enter_working(const char* name);
/// As enter(), for calls that spoil a capture which is not theirs.
cudaError_t enter_unsafe(const char* name);
/// The current device of the thread, whose context there is from now on.
int use_current_device();
/// The current graph is spoilt.
cudaError_t spoil(cudaError_t status);
bool is_page_locked(const void* memory, std::size_t bytes);
int copy_delay();

Queue& queue_of(cudaStream_t stream);
SharedEvent& event_of(cudaEvent_t event);

}  // namespace headrace::test::device
