#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <headrace/engine/device.h>

/// A CUDA runtime for tests on machines without a device: streams are threads, device memory is
/// host memory, copies happen late. It keeps the order that CUDA promises and nothing more, so that
/// memory that is refilled or read too early shows as wrong bytes.
namespace headrace::test::device {

struct Behaviour {
  int devices = 1;
  bool refuse_page_locks = false;
  std::int64_t fail_copy = -1;  ///< the number of the copy that fails, and the device with it
  int refuse_waits = 0;         ///< so many waits on the default stream fail, and nothing else
  std::size_t free_bytes = std::size_t{1} << 40;
  int copy_delay_us = 200;  ///< at most; drawn for every copy
};

struct Calls {
  std::int64_t copies = 0;
  std::int64_t allocations = 0;
  std::int64_t page_locks = 0;
  std::int64_t synchronisations = 0;  ///< of streams, events or the device, by the host
  std::int64_t live_allocations = 0;
  std::int64_t live_streams = 0;
  std::int64_t live_events = 0;
};

/// Sets the device's behaviour and clears its counts.
void reset(Behaviour behaviour = {});
Calls calls();

/// A stream of the trainer's.
class TrainerStream {
 public:
  TrainerStream();
  ~TrainerStream();
  TrainerStream(const TrainerStream&) = delete;
  TrainerStream& operator=(const TrainerStream&) = delete;

  operator headrace::Stream() const { return {handle_}; }
  /// Queues work, as a kernel would be.
  void run(std::function<void()> kernel);
  /// Waits until all of it is done. Not counted as a synchronisation.
  void finish();

 private:
  void* handle_;
};

/// Queues work on any stream, the default one included.
void run_on(headrace::Stream stream, std::function<void()> kernel);
/// Number of the device that is current for this thread.
int current();
void make_current(int number);
/// From now on every call ends the process with status 3.
void forbid_calls();

}  // namespace headrace::test::device
