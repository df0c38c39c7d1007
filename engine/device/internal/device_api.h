#pragma once

#include <cstddef>

namespace headrace::inline v1::detail {

/// What a thread must get back when it leaves a device.
struct DeviceVisit {
  int capture_mode = 0;
};

/// The CUDA runtime as the engine needs it: what the device module gives under the name
/// `headrace_device_api`. Streams, events and memory are the runtime's own; every call but the
/// plain ones returns its status, 0 for success. No CUDA header is needed to use it.
struct DeviceApi {
  static constexpr int current_version = 2;

  int version = current_version;
  int no_memory = 0;  ///< statuses that the engine must tell apart
  int not_ready = 0;
  int no_kernel = 0;  ///< for a device like this one
  const char* (*text)(int status) = nullptr;
  /// Clears the error that the runtime keeps for the thread, unless the device is lost for good.
  void (*forget_error)() = nullptr;

  /// As 13000 for 13.0; the driver's is 0 where there is none.
  int (*versions)(int* runtime, int* driver) = nullptr;
  int (*count_devices)(int* count) = nullptr;
  /// Makes a device current for the calling thread through its primary context, which is kept for
  /// the life of the process, so that no other device gets one; and lets the thread make any call
  /// while another one captures a graph.
  int (*enter)(int device, DeviceVisit* visit) = nullptr;
  void (*leave)(const DeviceVisit* visit) = nullptr;

  int (*allocate)(void** memory, std::size_t bytes) = nullptr;
  int (*release)(void* memory) = nullptr;
  int (*free_bytes)(std::size_t* free, std::size_t* all) = nullptr;
  int (*lock_pages)(void* memory, std::size_t bytes) = nullptr;
  int (*unlock_pages)(void* memory) = nullptr;

  int (*make_stream)(void** stream, bool urgent) = nullptr;
  int (*destroy_stream)(void* stream) = nullptr;
  int (*query_stream)(void* stream) = nullptr;
  int (*drain_stream)(void* stream) = nullptr;
  int (*is_capturing)(void* stream, bool* capturing) = nullptr;

  int (*make_event)(void** event, bool timed, bool awaited) = nullptr;
  int (*destroy_event)(void* event) = nullptr;
  int (*record)(void* event, void* stream) = nullptr;
  int (*wait_for)(void* stream, void* event) = nullptr;
  int (*await)(void* event) = nullptr;
  int (*query_event)(void* event) = nullptr;
  int (*milliseconds_between)(float* milliseconds, void* from, void* to) = nullptr;

  int (*copy_to_device)(void* to, const void* from, std::size_t bytes, void* stream) = nullptr;
  /// `rows` rows of `row_bytes`, `stride` apart, to one packed block.
  int (*copy_rows_to_host)(void* to, const void* from, std::size_t stride, std::size_t row_bytes,
                           std::size_t rows, void* stream) = nullptr;
  int (*call_when_reached)(void* stream, void (*function)(void*), void* argument) = nullptr;
};

}  // namespace headrace::inline v1::detail
