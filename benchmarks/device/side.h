#pragma once

#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/engine/tensor/huge_pages.h>

#include <cstddef>
#include <functional>
#include <string>

namespace headrace::inline v1::bench {

/// Directions of a copy, numbered as the CUDA runtime does.
enum class Way : int { to_device = 1, to_host = 2, on_device = 3 };

/// Calls that the limits need beside the engine's own. All return before the stream has come to
/// them; a copy out of pageable memory may wait.
struct BareCalls {
  std::function<void(void* to, const void* from, std::size_t bytes, Way way, Stream on)> copy;
  /// Keeps the stream, and nothing else of the device, busy for so long.
  std::function<void(double seconds, Stream on)> delay;
};

/// Those of the CUDA runtime that the engine uses, and of the driver, on that device. Throws
/// DeviceError.
BareCalls cuda_calls(Device device);

/// Memory of a limit.
struct Memory {
  HugePages host{};
  detail::PageLock lock{};
  detail::DeviceMemory device{};

  std::byte* data() const { return device ? device.get() : host.data(); }
};

/// Where work runs and who keeps the time: a stream of a GPU and its events, or the calling thread
/// and its clock, on which the same benchmark runs through the operations' host forms. One thread.
class Side {
 public:
  /// The host.
  Side();
  Side(Device device, BareCalls calls);

  Device device() const { return device_; }
  bool is_gpu() const { return device_.is_cuda(); }
  /// The trainer's: work whose time is taken.
  Stream stream() const { return {stream_.get()}; }
  /// Beside it, for copies.
  Stream copies() const { return {copies_.get()}; }
  void copy(void* to, const void* from, std::size_t bytes, Way way, Stream on) const {
    calls_.copy(to, from, bytes, way, on);
  }
  void delay(double seconds) const { calls_.delay(seconds, stream()); }

  /// A moment of stream(); the second call ends what the first began.
  void begin();
  void end();
  /// Waits for end(); seconds since begin().
  double seconds();
  /// Seconds of one of `times` calls of `work`, which queues on stream().
  double seconds_of_one(int times, const std::function<void()>& work);

  /// What the first stream does from here on comes after what the second was told so far.
  void order(Stream later, Stream earlier) const;

  /// Of the device, or host memory on the host.
  Memory here(std::size_t bytes) const;
  /// Of the host, written once, page-locked if asked for. Throws DeviceError where the system
  /// refuses.
  Memory of_host(std::size_t bytes, bool page_locked) const;

 private:
  Device device_;
  BareCalls calls_;
  detail::DeviceStream stream_{};
  detail::DeviceStream copies_{};
  detail::DeviceEvent begun_{};
  detail::DeviceEvent ended_{};
  double begun_s_ = 0;
  double ended_s_ = 0;
};

}  // namespace headrace::inline v1::bench
