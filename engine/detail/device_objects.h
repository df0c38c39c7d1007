#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <headrace/engine/device.h>

namespace headrace::inline v1::detail {

/// What the transfer stage needs of a CUDA device: memory, page locks, streams, events. Functions
/// that may fail throw DeviceError. While the process is ending nothing calls CUDA: what is left is
/// the system's. A host build has the same functions; none is reached there.

/// Throws DeviceError when batches cannot be delivered to that device by this build on this
/// machine; the CPU always can.
void require_device(Device device, const std::string& who);

/// Makes a device current for the calling thread, and puts back what was.
class DeviceScope {
 public:
  explicit DeviceScope(Device device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_ = -1;
};

struct FreeDeviceMemory {
  void operator()(std::byte* memory) const noexcept;
};
struct UnlockPages {
  void operator()(std::byte* memory) const noexcept;
};
struct DestroyStream {
  void operator()(void* stream) const noexcept;
};
struct DestroyEvent {
  void operator()(void* event) const noexcept;
};
using DeviceMemory = std::unique_ptr<std::byte, FreeDeviceMemory>;
using PageLock = std::unique_ptr<std::byte, UnlockPages>;
using DeviceStream = std::unique_ptr<void, DestroyStream>;
using DeviceEvent = std::unique_ptr<void, DestroyEvent>;

/// Throws ResourceError naming the bytes when the device has not got them.
DeviceMemory allocate_on_device(std::size_t bytes);
/// Null, with the reason in `refusal`, where the system does not allow it.
PageLock lock_pages(std::byte* memory, std::size_t bytes, std::string& refusal);
/// A stream that does not wait for the default one; an urgent one goes first.
DeviceStream make_stream(bool urgent);
/// An event, with a time stamp if asked for.
DeviceEvent make_event(bool timed);

void record(const DeviceEvent& event, Stream on);
void wait_for(const DeviceEvent& event, Stream on);
void copy_to_device(std::byte* to, const std::byte* from, std::size_t bytes, Stream on);
/// Calls `function(argument)` on a thread of the driver once the stream has come here; it must not
/// call CUDA.
void call_when_reached(Stream on, void (*function)(void*), void* argument);
/// Waits until the stream's work is done; not on the hot path.
void drain(Stream stream) noexcept;
/// Waits until what was recorded last has come; not on the hot path.
void drain(const DeviceEvent& event) noexcept;
/// Seconds between two recorded events; nullopt while one is outstanding.
std::optional<double> seconds_between(const DeviceEvent& from, const DeviceEvent& to) noexcept;
/// Throws DeviceError if the device has failed since.
void require_health(Stream stream);

/// A range on the time line of a profiler: from construction to destruction, on this thread.
class TraceRange {
 public:
  explicit TraceRange(const std::string& name) noexcept;
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

}  // namespace headrace::inline v1::detail
