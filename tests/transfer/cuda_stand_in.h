#pragma once

#include <headrace/engine/tensor/device.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

/// A CUDA runtime for tests on machines without a device: streams are threads, device memory is
/// host memory, copies happen late. It keeps the order that CUDA promises and nothing more, so that
/// memory that is refilled or read too early shows as wrong bytes. Contexts, captures of graphs,
/// events of another device and calls inside callbacks are treated as CUDA treats them.
namespace headrace::test::device {

struct Behaviour {
  int devices = 1;
  bool refuse_page_locks = false;
  std::int64_t fail_copy = -1;  ///< the number of the copy that fails, and the device with it
  int refuse_waits = 0;         ///< so many waits on the default stream fail, and nothing else
  std::string refuse{};         ///< a call of this name fails, and nothing else ...
  int refuse_after = 0;         ///< ... after so many of that name,
  int refuse_times = 1;         ///< so often
  std::size_t free_bytes = std::size_t{1} << 40;
  int copy_delay_us = 200;               ///< at most; drawn for every copy
  int copy_least_us = 0;                 ///< beside it, of every copy
  std::function<void()> on_page_lock{};  ///< called while pages are being locked
  std::function<void()> on_callback{};   ///< called on the driver's thread before each callback
};

struct Calls {
  std::int64_t copies = 0;
  std::int64_t copies_done = 0;
  std::int64_t torn_copies = 0;  ///< whose source changed on the way
  std::int64_t allocations = 0;
  std::int64_t page_locks = 0;
  std::int64_t synchronisations = 0;  ///< of streams, events or the device, by the host
  std::int64_t in_callbacks = 0;      ///< calls of CUDA on the driver's threads, all refused
  std::int64_t live_allocations = 0;
  std::int64_t live_streams = 0;
  std::int64_t live_events = 0;
};

/// Sets the device's behaviour and clears its counts and contexts.
void reset(Behaviour behaviour = {});
Calls calls();

/// A stream of the trainer's.
class TrainerStream {
 public:
  explicit TrainerStream(int device = 0);
  ~TrainerStream();
  TrainerStream(const TrainerStream&) = delete;
  TrainerStream& operator=(const TrainerStream&) = delete;

  operator headrace::Stream() const { return {handle_}; }
  /// Queues work, as a kernel would be.
  void run(std::function<void()> kernel);
  /// Queues a callback: a thread of the driver that may not call CUDA.
  void call(std::function<void()> callback);
  /// Waits until all of it is done. Not counted as a synchronisation.
  void finish();

 private:
  void* handle_;
};

/// A graph that this thread captures on a stream, in CUDA's global mode: an unsafe call of any
/// thread that has not relaxed its mode spoils it.
class Capture {
 public:
  explicit Capture(const TrainerStream& stream);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Ends it; whether it is whole.
  bool end();

 private:
  void* queue_;
};

/// Leaves an error with the calling thread, as a call of somebody else's that failed.
void leave_error();
/// What cudaGetLastError() answers, as a kernel's launcher asks it.
int last_error();
/// A call of CUDA that spoils a capture; throws std::runtime_error where it is refused.
void unsafe_call();
/// Queues work on any stream, the default one included.
void run_on(headrace::Stream stream, std::function<void()> kernel);
/// Devices that have a context.
std::set<int> contexts();
/// Number of the device that is current for this thread.
int current();
/// As the trainer does it: the device gets a context.
void make_current(int number);
/// Whether this is a thread of the driver, in a callback.
bool in_callback();
/// From now on every call ends the process with status 3.
void forbid_calls();

}  // namespace headrace::test::device
