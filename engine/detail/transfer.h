#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <headrace/engine/detail/batch_memory.h>
#include <headrace/engine/detail/device_objects.h>
#include <headrace/engine/stats.h>

namespace headrace::inline v1::detail {

/// When a batch was copied and waited for. A trainer's thread runs ahead of its stream, so these
/// are read some batches later.
struct TransferTimes {
  DeviceEvent begun;    ///< its copy starts
  DeviceEvent copied;   ///< and is done
  DeviceEvent asked;    ///< the trainer's stream came to wait for it
  DeviceEvent granted;  ///< and went on
};

/// Device memory of one batch, at an address that never changes: a twin of a slab, with room for
/// what batch operations make. Its events say when it may be read, and when it may be overwritten.
struct DeviceSlot : BatchMemory {
  DeviceEvent copied;                 ///< its copy is done
  DeviceEvent ready;                  ///< the batch operations are done
  std::vector<DeviceEvent> released;  ///< streams of the last loan are past their use
  std::size_t releases = 0;           ///< of `released`, those that count
  bool used = false;                  ///< once: `ready` was recorded
  TransferTimes* times = nullptr;     ///< of this batch, where it is timed
};

/// The device side of a loader: a ring of device slots, a stream for copies and one for batch
/// operations. Streams wait for each other's events; no thread does. Outlives the loader while
/// batches are on loan. take(), put_back(), lend() and release() are for any thread, the others for
/// the transfer stage.
class Transfer {
 public:
  struct Sizes {
    std::size_t slab_bytes = 0;
    std::size_t made_bytes = 0;  ///< of fields that batch operations make, a slot
    int slots = 0;
    bool timed = false;  ///< measures copies and waits
  };

  /// Throws DeviceError, and ResourceError when the device has not got the memory.
  Transfer(Device device, const Sizes& sizes);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  int slots() const noexcept { return static_cast<int>(slots_.size()); }
  std::size_t bytes() const noexcept { return stride_ * slots_.size(); }
  /// Locks host memory into RAM for as long as this lives; what the system says if it refuses.
  std::string lock_host_memory(std::byte* memory, std::size_t bytes);

  /// The slot that was put back first, or null.
  DeviceSlot* take();
  void put_back(DeviceSlot* slot) noexcept;

  /// Queues the copy of a slab behind the last use of the slot; then `function(argument)` is called
  /// on a thread of the driver, and the slab may be refilled.
  void send(DeviceSlot& slot, const std::byte* slab, void (*function)(void*), void* argument);
  /// Where batch operations on the slot run, behind its copy.
  Stream operations(const DeviceSlot& slot);
  /// Says that the last batch operation has been queued.
  void finish(DeviceSlot& slot);

  /// Makes a stream of the trainer's wait for the batch; `lent` others have it already. What
  /// release() needs is made here, where it may throw.
  void lend(DeviceSlot& slot, Stream to, std::size_t lent);
  /// The loan has ended: the slot is free when these streams have come here.
  void release(DeviceSlot& slot, std::span<const Stream> streams) noexcept;

  void require_health() const;
  TransferStats stats() const;
  void reset_stats();

 private:
  TransferTimes* times_for_next();
  Device device_;
  Sizes sizes_;
  std::size_t stride_;
  PageLock pages_;
  DeviceMemory memory_;
  DeviceStream copies_;
  DeviceStream operations_;
  std::vector<std::unique_ptr<DeviceSlot>> slots_;
  std::vector<TransferTimes> times_;

  mutable std::mutex mutex_;
  std::vector<DeviceSlot*> free_;
  std::vector<TransferTimes*> unused_times_;
  std::deque<TransferTimes*> outstanding_times_;  ///< oldest first
  TransferStats stats_;
};

}  // namespace headrace::inline v1::detail
