#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/device/internal/device_api.h>
#include <headrace/engine/tensor/device.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace headrace::inline v1::detail {

/// What the transfer stage, decoders and operations on a device need of CUDA: memory, page locks,
/// streams, events; through the device module. Functions that may fail throw DeviceError.
/// Calls on a stream or an event are made inside a DeviceScope of its device. While the process is
/// ending nothing calls CUDA: what is left is the system's.

/// Throws DeviceError, in the name of `who`, when this machine and this build cannot use that
/// device; the CPU always can.
HEADRACE_API void require_device(Device device, const std::string& who);

/// Makes a device current for the calling thread, and puts back what was. No other device gets a
/// context by it, and a graph that another thread captures meanwhile stays whole.
class HEADRACE_API DeviceScope {
 public:
  explicit DeviceScope(Device device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  bool entered_ = false;
  DeviceVisit visit_;
};

/// Gives an object of a device back, on any thread.
struct HEADRACE_API FreeDeviceMemory {
  int device = 0;
  void operator()(std::byte* memory) const noexcept;
};
struct HEADRACE_API UnlockPages {
  int device = 0;
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const noexcept;
};
struct HEADRACE_API DestroyStream {
  int device = 0;
  void operator()(void* stream) const noexcept;
};
struct HEADRACE_API DestroyEvent {
  int device = 0;
  void operator()(void* event) const noexcept;
};
using DeviceMemory = std::unique_ptr<std::byte, FreeDeviceMemory>;
using PageLock = std::unique_ptr<std::byte, UnlockPages>;
using DeviceStream = std::unique_ptr<void, DestroyStream>;
using DeviceEvent = std::unique_ptr<void, DestroyEvent>;

/// Throws ResourceError naming the bytes when the device has not got them.
HEADRACE_API DeviceMemory allocate_on_device(Device device, std::size_t bytes);
/// Memory that the device has left.
HEADRACE_API std::size_t free_device_bytes(Device device);
/// All memory of the device, taken or not.
HEADRACE_API std::size_t all_device_bytes(Device device);
/// Null, with the reason in `refusal`, where the system does not allow it. A forked process does
/// not get these pages: the device would write to one copy and this process read another.
HEADRACE_API PageLock lock_pages(Device device, std::byte* memory, std::size_t bytes,
                                 std::string& refusal);
/// A stream that does not wait for the default one; an urgent one goes first.
HEADRACE_API DeviceStream make_stream(Device device, bool urgent);
/// An event, with a time stamp if asked for.
DeviceEvent make_event(Device device, bool timed);
/// An event whose waiting thread sleeps instead of spinning, for await().
HEADRACE_API DeviceEvent make_awaited_event(Device device);

HEADRACE_API void record(const DeviceEvent& event, Stream on);
void wait_for(const DeviceEvent& event, Stream on);
HEADRACE_API void copy_to_device(std::byte* to, const std::byte* from, std::size_t bytes,
                                 Stream on);
/// Copies `rows` rows of `row_bytes` each, which lie `stride` bytes apart, to one packed block.
HEADRACE_API void copy_rows_to_host(std::byte* to, const std::byte* from, std::size_t stride,
                                    std::size_t row_bytes, std::size_t rows, Stream on);
/// Calls `function(argument)` on a thread of the driver once the stream has come here; it must not
/// call CUDA, nor wait.
HEADRACE_API void call_when_reached(Stream on, void (*function)(void*), void* argument);
/// Waits until the stream's work is done.
HEADRACE_API void drain(Stream stream) noexcept;
/// Waits until what was recorded last has come.
HEADRACE_API void drain(const DeviceEvent& event) noexcept;
/// The same, and throw where the device failed on the way.
HEADRACE_API void await(const DeviceEvent& event);
void await(Stream stream);
/// Whether what was recorded last has come; no wait.
HEADRACE_API bool has_come(const DeviceEvent& event);
/// Seconds between two recorded events; nullopt while one is outstanding.
std::optional<double> seconds_between(const DeviceEvent& from, const DeviceEvent& to) noexcept;
/// Throws DeviceError if the device has failed since.
HEADRACE_API void require_health(Stream stream);
/// Whether the stream's work is being captured into a graph instead of being done.
bool is_capturing(Stream stream);
/// Whether the process is ending, so that nothing may call CUDA any more.
HEADRACE_API bool is_process_ending() noexcept;

}  // namespace headrace::inline v1::detail
